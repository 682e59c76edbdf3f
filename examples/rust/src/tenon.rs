//! The part of tenon.h that the example uses, and owners of its handles.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Array {
    data: *const c_void,
    dtype: c_int,
    rank: usize,
    dims: *const i64,
    byte_strides: *const i64,
}
const F32: c_int = 11;

#[link(name = "tenon")]
extern "C" {
    fn tenon_status_code(status: *const c_void) -> c_int;
    fn tenon_status_message(status: *const c_void) -> *const c_char;
    fn tenon_status_free(status: *mut c_void);
    fn tenon_code_name(code: c_int) -> *const c_char;
    fn tenon_plugin_load(name: *const c_char, plugin: *mut *mut c_void) -> *mut c_void;
    fn tenon_plugin_free(plugin: *mut c_void);
    fn tenon_client_create(plugin: *const c_void, options: *const c_char, client: *mut *mut c_void) -> *mut c_void;
    fn tenon_client_free(client: *mut c_void);
    fn tenon_compile(client: *const c_void, program: *const c_char, size: usize, format: *const c_char, options: *const c_void,
                     executable: *mut *mut c_void) -> *mut c_void;
    fn tenon_executable_free(executable: *mut c_void);
    fn tenon_executable_num_outputs(executable: *const c_void, count: *mut usize) -> *mut c_void;
    fn tenon_execute(executable: *const c_void, arguments: *const *const c_void, count: usize, options: *const c_void,
                     outputs: *mut *mut c_void, num_outputs: usize, done: *mut *mut c_void) -> *mut c_void;
    fn tenon_buffer_from_host(client: *const c_void, device: *const c_void, array: *const Array, buffer: *mut *mut c_void) -> *mut c_void;
    fn tenon_buffer_size(buffer: *const c_void, bytes: *mut usize) -> *mut c_void;
    fn tenon_buffer_to_host(buffer: *const c_void, data: *mut c_void, size: usize) -> *mut c_void;
    fn tenon_buffer_free(buffer: *mut c_void);
}

pub type Result<T> = std::result::Result<T, String>;

fn check(status: *mut c_void) -> Result<()> {
    if status.is_null() {
        return Ok(());
    }
    // SAFETY: a status that is not null is ours; its strings are copied before it is freed.
    unsafe {
        let code = CStr::from_ptr(tenon_code_name(tenon_status_code(status))).to_string_lossy().into_owned();
        let message = CStr::from_ptr(tenon_status_message(status)).to_string_lossy().into_owned();
        tenon_status_free(status);
        Err(format!("{code}: {message}"))
    }
}

/// Owns a handle and frees it.
struct Handle(*mut c_void, unsafe extern "C" fn(*mut c_void));
impl Drop for Handle {
    fn drop(&mut self) {
        unsafe { (self.1)(self.0) }
    }
}

pub struct Client(Handle);
pub struct Executable(Handle);
pub struct Buffer(Handle);

impl Client {
    /// The devices of the plugin of this name or path.
    pub fn new(plugin: &str) -> Result<Client> {
        let name = CString::new(plugin).map_err(|e| e.to_string())?;
        let (mut plugin, mut client) = (null_mut(), null_mut());
        check(unsafe { tenon_plugin_load(name.as_ptr(), &mut plugin) })?;
        let plugin = Handle(plugin, tenon_plugin_free);
        check(unsafe { tenon_client_create(plugin.0, null(), &mut client) })?;
        Ok(Client(Handle(client, tenon_client_free)))
    }

    /// Compiles StableHLO.
    pub fn compile(&self, program: &[u8]) -> Result<Executable> {
        let mut executable = null_mut();
        check(unsafe { tenon_compile(self.0 .0, program.as_ptr().cast(), program.len(), null(), null(), &mut executable) })?;
        Ok(Executable(Handle(executable, tenon_executable_free)))
    }

    /// A copy of `data` on the first device.
    pub fn to_device(&self, data: &[f32], dims: &[i64]) -> Result<Buffer> {
        if dims.iter().product::<i64>() != data.len() as i64 {
            return Err(format!("{} numbers for the extents {dims:?}", data.len()));
        }
        let array = Array { data: data.as_ptr().cast(), dtype: F32, rank: dims.len(), dims: dims.as_ptr(), byte_strides: null() };
        let mut buffer = null_mut();
        check(unsafe { tenon_buffer_from_host(self.0 .0, null(), &array, &mut buffer) })?;
        Ok(Buffer(Handle(buffer, tenon_buffer_free)))
    }
}

impl Executable {
    pub fn run(&self, arguments: &[&Buffer]) -> Result<Vec<Buffer>> {
        let mut count = 0;
        check(unsafe { tenon_executable_num_outputs(self.0 .0, &mut count) })?;
        let handles: Vec<*const c_void> = arguments.iter().map(|b| b.0 .0 as *const c_void).collect();
        let mut outputs = vec![null_mut(); count];
        check(unsafe { tenon_execute(self.0 .0, handles.as_ptr(), handles.len(), null(), outputs.as_mut_ptr(), count, null_mut()) })?;
        Ok(outputs.into_iter().map(|b| Buffer(Handle(b, tenon_buffer_free))).collect())
    }
}

impl Buffer {
    /// The contents, which must be f32.
    pub fn to_host(&self) -> Result<Vec<f32>> {
        let mut bytes = 0;
        check(unsafe { tenon_buffer_size(self.0 .0, &mut bytes) })?;
        let mut data = vec![0f32; bytes / 4];
        check(unsafe { tenon_buffer_to_host(self.0 .0, data.as_mut_ptr().cast(), bytes) })?;
        Ok(data)
    }
}
