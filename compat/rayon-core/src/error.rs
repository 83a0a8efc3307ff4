//! Why a pool could not be built.

use std::error::Error;
use std::{fmt, io};

/// Why [`build`](crate::ThreadPoolBuilder::build) or
/// [`build_global`](crate::ThreadPoolBuilder::build_global) failed.
#[derive(Debug)]
pub struct ThreadPoolBuildError(Kind);

#[derive(Debug)]
enum Kind {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    IOError(io::Error),
}

// Programs compare these texts.
const ALREADY_INITIALIZED: &str = "The global thread pool has already been initialized.";
const ALREADY_IN_POOL: &str = "The current thread is already part of another thread pool.";

impl ThreadPoolBuildError {
    pub(crate) fn already_initialized() -> Self {
        ThreadPoolBuildError(Kind::GlobalPoolAlreadyInitialized)
    }

    pub(crate) fn already_in_pool() -> Self {
        ThreadPoolBuildError(Kind::CurrentThreadAlreadyInPool)
    }

    pub(crate) fn io(error: io::Error) -> Self {
        ThreadPoolBuildError(Kind::IOError(error))
    }

    /// Whether the system has no threads.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(&self.0, Kind::IOError(error) if error.kind() == io::ErrorKind::Unsupported)
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::GlobalPoolAlreadyInitialized => f.write_str(ALREADY_INITIALIZED),
            Kind::CurrentThreadAlreadyInPool => f.write_str(ALREADY_IN_POOL),
            Kind::IOError(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match &self.0 {
            Kind::GlobalPoolAlreadyInitialized => ALREADY_INITIALIZED,
            Kind::CurrentThreadAlreadyInPool => ALREADY_IN_POOL,
            Kind::IOError(error) => error.description(),
        }
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::IOError(error) => Some(error),
            _ => None,
        }
    }
}
