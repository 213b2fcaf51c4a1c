//! Sections of the server's INFO. The server takes tens of microseconds for one.

use std::ffi::{CStr, c_int};
use std::ptr::{self, NonNull};

use redis_module::raw::RedisModuleServerInfoData;

use super::api::api;

/// One section of INFO, as it was when it was requested.
pub struct ServerInfo {
    data: NonNull<RedisModuleServerInfoData>,
}

impl ServerInfo {
    /// The section of this name; none if the server does not return it.
    pub fn of(section: &CStr) -> Option<Self> {
        // SAFETY: the server allows a null context, and the name ends with a zero byte.
        let data = unsafe { api!(RedisModule_GetServerInfo)(ptr::null_mut(), section.as_ptr()) };
        NonNull::new(data).map(|data| Self { data })
    }

    /// The value of a numeric field; none if it is missing or not numeric.
    pub fn number(&self, field: &CStr) -> Option<u64> {
        let mut error: c_int = 0;
        // SAFETY: the data is valid until it is dropped, and the field ends with a zero byte.
        let value = unsafe {
            api!(RedisModule_ServerInfoGetFieldUnsigned)(
                self.data.as_ptr(),
                field.as_ptr(),
                &mut error,
            )
        };
        (error == 0).then_some(value)
    }

    /// The value of a field as text; none if it is missing.
    pub fn text(&self, field: &CStr) -> Option<&CStr> {
        // SAFETY: as in `number`; the text lives as long as the data.
        unsafe {
            let text = api!(RedisModule_ServerInfoGetFieldC)(self.data.as_ptr(), field.as_ptr());
            (!text.is_null()).then(|| CStr::from_ptr(text))
        }
    }
}

impl Drop for ServerInfo {
    fn drop(&mut self) {
        // SAFETY: the data was created with the same context, null, and is freed once.
        unsafe { api!(RedisModule_FreeServerInfo)(ptr::null_mut(), self.data.as_ptr()) };
    }
}
