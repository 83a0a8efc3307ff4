//! The model has one pool, which shares its CPUs with none.

#[derive(Debug)]
pub(crate) struct Oversubscription;

impl Oversubscription {
    pub(crate) fn new(_: bool) -> Self {
        Oversubscription
    }
    pub(crate) fn count(&self, _: usize, _: usize) {}
    pub(crate) fn set_cpus(&self, _: usize) {}
    pub(crate) fn opened(&self) {}
}
