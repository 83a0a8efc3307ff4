//! The turns of some cases, and the one table that all benches fill from them.

use super::candidate::ROWPOOL;
use super::fork::Candidate;
use super::rounds::{alternate_within, Series, DISTURBED};
use super::stats::{median, Estimate};
use super::{short, verdict};
use std::borrow::Cow;

/// What one turn measured; NaN where it could not.
pub type Figures = [f64; 3];

/// What is measured, on whom, and how.
pub type Case<C> = (Cow<'static, str>, &'static str, C);

/// A case of each candidate, and of what is the same for all of them.
pub fn each<H: Copy>(
    measure: impl Into<Cow<'static, str>>,
    how: H,
    candidates: &[Candidate],
) -> Vec<Case<(H, Candidate)>> {
    let measure = measure.into();
    let case = |&candidate: &Candidate| (measure.clone(), candidate.name, (how, candidate));
    candidates.iter().map(case).collect()
}

/// The turns of some cases, round by round.
pub struct Turns {
    names: Vec<(Cow<'static, str>, &'static str)>,
    series: Vec<Series<Figures>>,
}

impl Turns {
    /// Alternates the cases. A turn without its first figure measured nothing.
    pub fn of<C>(rounds: usize, cases: &[Case<C>], turn: impl FnMut(&C) -> Figures) -> Turns {
        Turns::within(|_| DISTURBED, rounds, cases, turn)
    }

    /// The same, with the part of a CPU that others may use during a turn.
    pub fn within<C>(
        limit: impl Fn(&C) -> f64,
        rounds: usize,
        cases: &[Case<C>],
        mut turn: impl FnMut(&C) -> Figures,
    ) -> Turns {
        let names = cases.iter().map(|(measure, candidate, _)| (measure.clone(), *candidate));
        let turn =
            |i: usize| Some(turn(&cases[i].2)).filter(|figures| short() || !figures[0].is_nan());
        let series = alternate_within(|i| limit(&cases[i].2), rounds, cases.len(), turn);
        Turns { names: names.collect(), series }
    }

    pub fn one(&self, measure: &str, candidate: &str) -> Option<One<'_>> {
        let at = self.names.iter().position(|(m, c)| m == measure && *c == candidate)?;
        Some(One { turns: self, at })
    }

    pub fn rows(&self, rows: impl Fn(One<'_>) -> Vec<Row>) -> Vec<Row> {
        (0..self.names.len()).flat_map(|at| rows(One { turns: self, at })).collect()
    }
}

/// One case of them.
#[derive(Clone, Copy)]
pub struct One<'a> {
    turns: &'a Turns,
    at: usize,
}

impl<'a> One<'a> {
    pub fn measure(self) -> &'a str {
        &self.turns.names[self.at].0
    }

    pub fn candidate(self) -> &'a str {
        self.turns.names[self.at].1
    }

    /// What is asked where the candidate is the one that things are asked of.
    pub fn ours(self, asked: Asked) -> Option<Asked> {
        Some(asked).filter(|_| self.candidate() == ROWPOOL.name)
    }

    pub fn series(self) -> &'a Series<Figures> {
        &self.turns.series[self.at]
    }

    pub fn figures(self, at: usize) -> Vec<f64> {
        self.series().kept().map(|figures| figures[at]).collect()
    }

    pub fn median(self, at: usize) -> f64 {
        median(&self.figures(at))
    }

    /// A row of one figure, in `unit`.
    pub fn row(self, unit: &str, at: usize) -> Row {
        self.row_as(self.measure(), self.candidate(), unit, at)
    }

    /// The same by other names.
    pub fn row_as(self, measure: &str, candidate: &str, unit: &str, at: usize) -> Row {
        let own = Estimate::of(&self.figures(at));
        let (measure, candidate, tally) = (measure.into(), candidate.into(), self.series().tally());
        Row { measure, candidate, own, parts: vec![shown(&own, &format!(" {unit}"))], tally }
    }

    /// `f` of a figure and another case's, of the rounds that have both.
    fn paired(self, at: usize, other: (&str, &str), f: fn(f64, f64) -> f64) -> Estimate {
        let other = self.turns.one(other.0, other.1).map(|one| &one.series().turns[..]);
        let both = self.series().turns.iter().zip(other.unwrap_or_default());
        let both = both.filter_map(|(a, b)| Some(f(a.as_ref()?[at], b.as_ref()?[at])));
        Estimate::of(&both.collect::<Vec<f64>>())
    }

    /// A figure over the same of another case.
    pub fn over(self, at: usize, measure: &str, candidate: &str) -> Estimate {
        self.paired(at, (measure, candidate), |own, other| own / other)
    }

    /// Speed over the other's, where the figure is a time.
    pub fn speed(self, at: usize, measure: &str, candidate: &str) -> Estimate {
        self.paired(at, (measure, candidate), |own, other| other / own)
    }

    pub fn minus(self, at: usize, measure: &str, candidate: &str) -> Estimate {
        self.paired(at, (measure, candidate), |own, other| own - other)
    }

    /// One of its figures over another of the same turn.
    pub fn within(self, at: usize, other: usize) -> Estimate {
        let ratios = self.series().kept().map(|figures| figures[at] / figures[other]);
        Estimate::of(&ratios.collect::<Vec<f64>>())
    }
}

/// What the project asks of a figure.
#[derive(Clone, Copy)]
pub enum Asked {
    AtLeast(f64),
    AtMost(f64),
    /// The upper end of the interval reaches it.
    Reaches(f64),
    /// So does the median, and the interval is clear of 1.
    Gains(f64),
}

impl Asked {
    fn judge(self, estimate: &Estimate) -> String {
        let (sign, bound, met, enough) = match self {
            Asked::AtLeast(least) => ("≥", least, estimate.median >= least, 5),
            Asked::AtMost(most) => ("≤", most, estimate.median <= most, 5),
            Asked::Gains(least) => ("≥", least, estimate.median >= least && estimate.low > 1.0, 6),
            Asked::Reaches(least) => ("reaches", least, estimate.high >= least, 6),
        };
        format!("({sign} {}: {})", digits(bound), verdict(met, estimate.n >= enough))
    }
}

/// A figure of one candidate, perhaps compared with others.
pub struct Row {
    measure: String,
    candidate: String,
    own: Estimate,
    /// The figure, what was noted of it, and how it compares.
    parts: Vec<String>,
    tally: String,
}

impl Row {
    /// What was given up from `cap` on was measured no further.
    pub fn capped(mut self, cap: f64, unit: &str) -> Row {
        if self.own.median >= cap {
            self.parts[0] = format!("> {} {unit}", digits(cap));
        }
        self
    }

    /// Adds something to the figure.
    pub fn note(mut self, note: &str) -> Row {
        if self.own.n > 0 {
            self.parts.push(note.into());
        }
        self
    }

    /// Judges the figure.
    pub fn asked(mut self, asked: Option<Asked>) -> Row {
        self.parts.extend(asked.map(|asked| asked.judge(&self.own)));
        self
    }

    /// Adds what was computed from the turns of a round, and judges that.
    pub fn compared(mut self, what: &str, estimate: Estimate, asked: Option<Asked>) -> Row {
        if estimate.n > 0 || asked.is_some() {
            let judged =
                asked.map_or(String::new(), |asked| format!(" {}", asked.judge(&estimate)));
            self.parts.push(format!("{what} {}{judged}", shown(&estimate, "")));
        }
        self
    }

    /// A requirement that is no bound of a median.
    pub fn required(mut self, what: &str, met: bool) -> Row {
        self.parts.push(format!("({what}: {})", verdict(met, self.own.n >= 5)));
        self
    }
}

/// Three digits, or all before the point.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// The median, in a unit, and its interval.
fn shown(estimate: &Estimate, unit: &str) -> String {
    if estimate.n == 0 {
        return "not measured".into();
    }
    let [median, low, high] = [estimate.median, estimate.low, estimate.high].map(digits);
    format!("{median}{unit} [{low}, {high}]")
}

/// Nothing where there are no rows.
pub fn print(title: &str, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    println!("\n## {title}\n");
    println!("| measure | candidate | figures [95%] (what is required of them) | rounds |");
    println!("|---|---|---|---|");
    for Row { measure, candidate, parts, tally, .. } in rows {
        println!("| {measure} | {candidate} | {} | {tally} |", parts.join("; "));
    }
}
