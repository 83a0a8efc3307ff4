//! The one table that all scenes fill.

use crate::support::rounds::Series;
use crate::support::stats::Estimate;
use crate::support::verdict;

/// Rounds that a verdict needs.
const ENOUGH: usize = 5;

/// What the project asks of a figure.
#[derive(Clone, Copy)]
pub enum Asked {
    AtLeast(f64),
    AtMost(f64),
}

impl Asked {
    fn judge(self, estimate: &Estimate) -> String {
        let (sign, bound, met) = match self {
            Asked::AtLeast(least) => ('≥', least, estimate.median >= least),
            Asked::AtMost(most) => ('≤', most, estimate.median <= most),
        };
        format!("{sign} {}: {}", digits(bound), verdict(met, estimate.n >= ENOUGH))
    }
}

/// One row: a figure of one candidate, perhaps compared with others.
pub struct Row {
    measure: String,
    candidate: String,
    own: Estimate,
    figure: String,
    compared: String,
    required: String,
    tally: String,
}

impl Row {
    /// One figure of each kept turn of `series`, in `unit`.
    pub fn new<T>(
        measure: &str,
        candidate: &str,
        series: &Series<T>,
        unit: &str,
        figure: impl Fn(&T) -> f64,
    ) -> Row {
        let own = Estimate::of(&series.figures(figure));
        Row {
            measure: measure.into(),
            candidate: candidate.into(),
            own,
            figure: match own.n {
                0 => "not measured".into(),
                _ => format!("{} {unit} {}", digits(own.median), interval(&own)),
            },
            compared: String::new(),
            required: String::new(),
            tally: series.tally(),
        }
    }

    /// What was given up from `cap` on was measured no further.
    pub fn capped(mut self, cap: f64, unit: &str) -> Row {
        if self.own.median >= cap {
            self.figure = format!("> {} {unit}", digits(cap));
        }
        self
    }

    /// Adds something to the figure.
    pub fn note(mut self, note: &str) -> Row {
        if self.own.n > 0 {
            join(&mut self.figure, note);
        }
        self
    }

    /// Judges the figure.
    pub fn asked(mut self, asked: Option<Asked>) -> Row {
        if let Some(asked) = asked {
            join(&mut self.required, &asked.judge(&self.own));
        }
        self
    }

    /// Adds what was computed from the turns of a round, and judges that.
    pub fn compared(mut self, what: &str, estimate: Estimate, asked: Option<Asked>) -> Row {
        if estimate.n > 0 {
            let part = format!("{what} {} {}", digits(estimate.median), interval(&estimate));
            join(&mut self.compared, &part);
        }
        if let Some(asked) = asked {
            join(&mut self.required, &asked.judge(&estimate));
        }
        self
    }

    /// A requirement that is no bound of a median.
    pub fn required(mut self, what: &str, met: bool) -> Row {
        let verdict = verdict(met, self.own.n >= ENOUGH);
        join(&mut self.required, &format!("{what}: {verdict}"));
        self
    }
}

fn join(text: &mut String, part: &str) {
    if !text.is_empty() {
        text.push_str("; ");
    }
    text.push_str(part);
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

fn interval(estimate: &Estimate) -> String {
    format!("[{}, {}]", digits(estimate.low), digits(estimate.high))
}

pub fn print(rows: &[Row]) {
    println!("\n| measure | candidate | figure [95%] | compared [95%] | required | rounds |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let Row { measure, candidate, figure, compared, required, tally, .. } = row;
        println!("| {measure} | {candidate} | {figure} | {compared} | {required} | {tally} |");
    }
}
