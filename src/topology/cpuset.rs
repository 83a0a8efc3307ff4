//! A set of CPU numbers, bounded so that no text can make it large.

use std::fmt;

/// CPU numbers at or above this are refused, wherever they come from.
///
/// 8192 is the most that a Linux kernel can be built for (`NR_CPUS` under
/// `CONFIG_MAXSMP` on x86; other architectures allow less). The bound keeps a
/// nonsensical text such as `0-4294967295` from costing memory: a [`CpuSet`]
/// takes at most 1 KiB.
///
/// ```
/// use rowpool::topology::{CpuSet, MAX_CPUS};
/// let mut set = CpuSet::new();
/// assert!(set.insert(MAX_CPUS - 1));
/// assert!(!set.insert(MAX_CPUS)); // refused, no panic
/// assert_eq!(set.len(), 1);
/// ```
pub const MAX_CPUS: usize = 8192;

/// A set of CPU numbers below [`MAX_CPUS`].
///
/// Prints in the kernel's list form.
///
/// ```
/// use rowpool::topology::CpuSet;
/// let set: CpuSet = [0, 1, 2, 3, 8].into_iter().collect();
/// assert_eq!(set.to_string(), "0-3,8");
/// assert_eq!(set.iter().max(), Some(8));
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet {
    // No zero words at the end, so that the derived `Eq` compares sets.
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    ///
    /// ```
    /// assert!(rowpool::topology::CpuSet::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a CPU. `false` when the number is [`MAX_CPUS`] or more: it is then
    /// not added.
    ///
    /// ```
    /// let mut set = rowpool::topology::CpuSet::new();
    /// assert!(set.insert(5));
    /// assert!(set.contains(5));
    /// ```
    pub fn insert(&mut self, cpu: usize) -> bool {
        if cpu >= MAX_CPUS {
            return false;
        }
        let word = cpu / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
        true
    }

    /// The CPUs whose bits are set; those from [`MAX_CPUS`] on are left out.
    pub(crate) fn from_words(mut words: Vec<u64>) -> Self {
        words.truncate(MAX_CPUS / 64);
        while words.last() == Some(&0) {
            words.pop();
        }
        CpuSet { words }
    }

    /// Adds a range word by word: texts may name the same long range often.
    pub(crate) fn insert_range(&mut self, first: usize, last: usize) {
        let last = last.min(MAX_CPUS - 1);
        if first > last {
            return;
        }
        self.insert(last);
        for word in first / 64..=last / 64 {
            let low = first.saturating_sub(word * 64);
            let high = (last - word * 64).min(63);
            self.words[word] |= (u64::MAX >> (63 - high)) & (u64::MAX << low);
        }
    }

    /// Whether a CPU is in the set.
    ///
    /// ```
    /// let set: rowpool::topology::CpuSet = [2, 4].into_iter().collect();
    /// assert!(set.contains(4) && !set.contains(3));
    /// ```
    pub fn contains(&self, cpu: usize) -> bool {
        self.words.get(cpu / 64).is_some_and(|word| word & (1 << (cpu % 64)) != 0)
    }

    /// Number of CPUs in the set.
    ///
    /// ```
    /// let set: rowpool::topology::CpuSet = [7, 7, 9].into_iter().collect();
    /// assert_eq!(set.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether there is no CPU in the set.
    ///
    /// ```
    /// assert!(rowpool::topology::CpuSet::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The CPUs, ascending.
    ///
    /// ```
    /// let set: rowpool::topology::CpuSet = [9, 1].into_iter().collect();
    /// assert_eq!(set.iter().collect::<Vec<_>>(), [1, 9]);
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| i * 64 + bit)
        })
    }

    /// The CPUs that are in both sets.
    ///
    /// ```
    /// use rowpool::topology::CpuSet;
    /// let a: CpuSet = [0, 1, 2].into_iter().collect();
    /// let b: CpuSet = [2, 3].into_iter().collect();
    /// assert_eq!(a.intersection(&b).to_string(), "2");
    /// ```
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        CpuSet::from_words(self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect())
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|&cpu| cpu == last + 1) {
                last = next;
            }
            f.write_str(separator)?;
            separator = ",";
            match last - first {
                0 => write!(f, "{first}")?,
                _ => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_its_members() {
        for (first, last) in [(0, 0), (0, 63), (0, 64), (3, 5), (63, 64), (60, 200), (8190, 9000)] {
            let mut set = CpuSet::new();
            set.insert_range(first, last);
            let members: CpuSet = (first..=last).collect();
            assert_eq!(set, members, "{first}-{last}");
        }
        let mut set = CpuSet::new();
        set.insert_range(5, 3);
        set.insert_range(MAX_CPUS, usize::MAX);
        assert!(set.is_empty());
    }

    #[test]
    fn equality_is_of_the_members() {
        let wide: CpuSet = [1, 500].into_iter().collect();
        let one: CpuSet = [1].into_iter().collect();
        assert_eq!(wide.intersection(&one), one);
        assert!(wide.intersection(&[2].into_iter().collect()).is_empty());
    }
}
