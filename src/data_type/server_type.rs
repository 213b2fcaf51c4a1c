//! A type of the server: the name and the encoding under which filters are values of keys.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::{RedisModuleType, RedisModuleTypeMethods};

use crate::server::api::api;
use crate::server::loading::Loading;

/// A type of the server. The values of all types of a family are the family's filters: they differ
/// in what the server writes of them.
pub struct ServerType {
    /// The name, which files and payloads contain.
    name: &'static CStr,
    /// The version of the encoding that is written.
    version: c_int,
    /// What the server calls for the values.
    methods: RedisModuleTypeMethods,
    /// The server's handle; null until the type is registered.
    handle: AtomicPtr<RedisModuleType>,
}

impl ServerType {
    pub(super) const fn new(
        name: &'static CStr,
        version: c_int,
        methods: RedisModuleTypeMethods,
    ) -> Self {
        Self { name, version, methods, handle: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Registers the type. False if the server refuses it.
    pub(super) fn register(&self, loading: Loading) -> bool {
        let mut methods = self.methods;
        // SAFETY: the module is being loaded, and the server copies name and methods.
        let handle = unsafe {
            api!(RedisModule_CreateDataType)(
                loading.as_ptr(),
                self.name.as_ptr(),
                self.version,
                &mut methods,
            )
        };
        self.handle.store(handle, Ordering::Release);
        !handle.is_null()
    }

    /// The name, which files and payloads contain.
    pub(super) fn name(&self) -> &'static CStr {
        self.name
    }

    /// The server's handle; null until the type is registered.
    #[inline]
    pub(super) fn handle(&self) -> *mut RedisModuleType {
        self.handle.load(Ordering::Acquire)
    }
}
