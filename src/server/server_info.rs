//! Sections of INFO, read by the module. Making one takes the server some 20 us.

use std::ffi::{CStr, c_int};
use std::ptr::{self, NonNull};

use redis_module::raw::RedisModuleServerInfoData;

use super::api::api;

/// One section of INFO, as it was when it was requested.
pub struct ServerInfo {
    data: NonNull<RedisModuleServerInfoData>,
}

impl ServerInfo {
    /// A section by its name; none if the server does not answer.
    pub fn of(section: &CStr) -> Option<Self> {
        // SAFETY: the server allows a null context, and the name ends with a zero byte.
        let data = unsafe { api!(RedisModule_GetServerInfo)(ptr::null_mut(), section.as_ptr()) };
        NonNull::new(data).map(|data| Self { data })
    }

    /// A field that is a number; none if it is missing or something else.
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

    /// A field as text; none if it is missing.
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
        // SAFETY: the data was made with the same context, null, and is freed once.
        unsafe { api!(RedisModule_FreeServerInfo)(ptr::null_mut(), self.data.as_ptr()) };
    }
}
