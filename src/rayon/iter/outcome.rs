//! What the `try_` methods accept from their closures.

use std::ops::ControlFlow;

/// `Option`, `Result` and `ControlFlow`: the standard library's `Try`, which is
/// not stable. Sealed: the module is private.
pub trait Try {
    type Output;
    type Residual;
    fn from_output(output: Self::Output) -> Self;
    fn from_residual(residual: Self::Residual) -> Self;
    fn branch(self) -> ControlFlow<Self::Residual, Self::Output>;
}

impl<T> Try for Option<T> {
    type Output = T;
    type Residual = ();
    fn from_output(output: T) -> Self {
        Some(output)
    }
    fn from_residual((): ()) -> Self {
        None
    }
    fn branch(self) -> ControlFlow<(), T> {
        self.map_or(ControlFlow::Break(()), ControlFlow::Continue)
    }
}

impl<T, E> Try for Result<T, E> {
    type Output = T;
    type Residual = E;
    fn from_output(output: T) -> Self {
        Ok(output)
    }
    fn from_residual(error: E) -> Self {
        Err(error)
    }
    fn branch(self) -> ControlFlow<E, T> {
        self.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }
}

impl<B, C> Try for ControlFlow<B, C> {
    type Output = C;
    type Residual = B;
    fn from_output(output: C) -> Self {
        ControlFlow::Continue(output)
    }
    fn from_residual(residual: B) -> Self {
        ControlFlow::Break(residual)
    }
    fn branch(self) -> ControlFlow<B, C> {
        self
    }
}
