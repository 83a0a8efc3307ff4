//! The traits that make parallel iterators from other things.

use super::ParallelIterator;

/// Something that a parallel iterator is made from by value: ranges of
/// integers, vectors, arrays, and references to vectors and slices.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let total: u64 = (1..=100u64).into_par_iter().sum();
/// assert_eq!(total, 5050);
/// ```
pub trait IntoParallelIterator {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// What it gives.
    type Item: Send;

    /// Makes the iterator.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let names = vec!["q".to_string(), "k".to_string()];
    /// let longer: Vec<String> = names.into_par_iter().map(|name| name + "_proj").collect();
    /// assert_eq!(longer, ["q_proj", "k_proj"]);
    /// ```
    fn into_par_iter(self) -> Self::Iter;
}

impl<T: ParallelIterator> IntoParallelIterator for T {
    type Iter = T;
    type Item = T::Item;

    fn into_par_iter(self) -> T {
        self
    }
}

/// Something whose reference makes a parallel iterator.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// assert_eq!([3, 1, 2].par_iter().max(), Some(&3));
/// ```
pub trait IntoParallelRefIterator<'data> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// What it gives.
    type Item: Send + 'data;

    /// Makes the iterator.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let x = vec![1.0f32; 100];
    /// assert_eq!(x.par_iter().map(|x| x * 2.0).sum::<f32>(), 200.0);
    /// ```
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> IntoParallelRefIterator<'data> for I
where
    &'data I: IntoParallelIterator,
{
    type Iter = <&'data I as IntoParallelIterator>::Iter;
    type Item = <&'data I as IntoParallelIterator>::Item;

    fn par_iter(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// Something whose mutable reference makes a parallel iterator.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let mut y = [1.0f32; 4];
/// y.par_iter_mut().for_each(|y| *y *= 2.0);
/// assert_eq!(y, [2.0; 4]);
/// ```
pub trait IntoParallelRefMutIterator<'data> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// What it gives.
    type Item: Send + 'data;

    /// Makes the iterator.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let mut y = vec![0usize; 100];
    /// y.par_iter_mut().enumerate().for_each(|(row, out)| *out = row);
    /// assert_eq!(y[99], 99);
    /// ```
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> IntoParallelRefMutIterator<'data> for I
where
    &'data mut I: IntoParallelIterator,
{
    type Iter = <&'data mut I as IntoParallelIterator>::Iter;
    type Item = <&'data mut I as IntoParallelIterator>::Item;

    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}
