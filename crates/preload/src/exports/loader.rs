//! `dlclose`: a module loaded afterwards may land where the plug-in was.

use crate::{live, real};

turnwise_interpose::exports! {
    dlclose(handle) => live::unloading(|| real::dlclose(handle));
}
