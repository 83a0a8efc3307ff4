//! The process's affinity mask: not that of whichever thread asks.

use super::cpuset::CpuSet;
use super::facts::Cpu;

/// Masks of Linux; the empty set where one is not known.
#[derive(Debug, Default)]
pub(crate) struct Masks {
    /// Of the main thread now.
    pub(crate) main: CpuSet,
    /// Of the process when it was started.
    pub(crate) start: CpuSet,
    /// Of a worker that has not been bound.
    pub(crate) worker: CpuSet,
    /// Of the thread that asks.
    pub(crate) caller: CpuSet,
}

impl Masks {
    /// The main thread's mask, since the asking thread may have been pinned
    /// (S26). A main thread on one physical core of a process that was started
    /// with more may have been pinned too, by itself or by OpenMP (S40): then the
    /// mask of an unbound worker counts, or the one at the start where there is
    /// none yet.
    pub(crate) fn process(&self, cpus: &[Cpu]) -> &CpuSet {
        let Masks { main, start, worker, .. } = self;
        let narrowed = main.len() < start.len() && main.intersection(start) == *main;
        match narrowed && one_core(main, cpus) {
            true if !worker.is_empty() => worker,
            true => start,
            false => main,
        }
    }

    /// The CPU that the asking thread is bound to: the first of its mask, if
    /// that is a part of the process's within one physical core.
    pub(crate) fn bound(&self, process: &CpuSet, cpus: &[Cpu]) -> Option<usize> {
        let caller = &self.caller;
        let bound = caller.len() < process.len() && one_core(caller, cpus);
        caller.iter().next().filter(|_| bound)
    }
}

/// Whether all of the mask are threads of one core.
fn one_core(mask: &CpuSet, cpus: &[Cpu]) -> bool {
    let mut cores = mask.iter().map(|id| cpus.iter().find(|cpu| cpu.id == id).map(|cpu| cpu.core));
    let Some(first) = cores.next() else { return false };
    mask.len() == 1 || (first.is_some() && cores.all(|core| core == first))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four cores of two threads: 0 and 1, 2 and 3, and so on.
    fn cpus() -> Vec<Cpu> {
        (0..8).map(|id| Cpu { core: id / 2, ..Cpu::new(id) }).collect()
    }

    fn process(main: &[usize], start: &[usize], worker: &[usize]) -> Vec<usize> {
        let [main, start, worker] = [main, start, worker].map(|ids| ids.iter().copied().collect());
        let masks = Masks { main, start, worker, ..Masks::default() };
        masks.process(&cpus()).iter().collect()
    }

    #[test]
    fn s40_a_mask_within_one_core_is_a_pin() {
        let all: Vec<usize> = (0..8).collect();
        for pinned in [&[5][..], &[2, 3]] {
            assert_eq!(process(pinned, &all, &[]), all, "{pinned:?}");
            assert_eq!(process(pinned, &all, &[0, 1, 4]), [0, 1, 4], "{pinned:?}");
        }
        // Within the two threads that the process was started with.
        assert_eq!(process(&[3], &[2, 3], &[]), [2, 3]);
    }

    #[test]
    fn s40_any_other_mask_is_the_process_s() {
        let all: Vec<usize> = (0..8).collect();
        for (main, start) in [
            (&[1, 2][..], &all[..]), // of two cores
            (&[2, 3], &[2, 3]),      // as at the start
            (&[2, 3], &[0, 1]),      // elsewhere: a cpuset has changed
            (&[2], &[0, 1, 3]),
            (&[8], &all),          // a CPU that came later
            (&[8, 9], &[7, 8, 9]), // CPUs whose core is not known
            (&[1, 2], &[]),
            (&[], &all),
        ] {
            assert_eq!(process(main, start, &[4]), main, "of {start:?}");
        }
    }

    #[test]
    fn the_cpu_that_the_caller_is_bound_to() {
        let bound = |caller: &[usize], process: &[usize]| {
            let process = process.iter().copied().collect();
            let caller = caller.iter().copied().collect();
            Masks { caller, ..Masks::default() }.bound(&process, &cpus())
        };
        let all: Vec<usize> = (0..8).collect();
        assert_eq!(bound(&[6], &all), Some(6));
        assert_eq!(bound(&[6, 7], &all), Some(6));
        assert_eq!(bound(&[5, 6], &all), None, "two cores");
        assert_eq!(bound(&all, &all), None);
        assert_eq!(bound(&[6], &[6]), None, "as the whole process is");
        assert_eq!(bound(&[], &all), None);
    }
}
