//! `dlclose`: a module loaded afterwards may land where the plug-in was.

use crate::{modules, process, real};

turnwise_interpose::exports! {
    dlclose(handle) => {
        let result = real::dlclose(handle);
        if let Some(process) = process::get_if_ready() {
            modules::unloaded(&process.mapping);
        }
        result
    };
}
