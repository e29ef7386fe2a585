//! Where V8 keeps what: offsets, kinds of objects and ways of writing strings, as its files say. Names of constants end in the
//! type of a field, which changes from version to version: these are found by how they begin.

use std::ops::RangeInclusive;

use crate::symbols::FoundSymbol;

/// What the names of all constants begin with.
const PREFIX: &str = "v8dbg_";
/// No object has more fields that are looked at.
const LARGEST: i32 = 1 << 12;
/// So many kinds of functions there are, where the file only tells the first.
const FUNCTION_KINDS: u16 = 24;

/// The constants, by how they begin behind the prefix.
const WANTED: [&str; 47] = [
    "SmiTag",
    "SmiTagMask",
    "SmiShiftSize",
    "SmiValueShift",
    "HeapObjectTag",
    "HeapObjectTagMask",
    "off_fp_function",
    "off_fp_context",
    "off_fp_bytecode_array",
    "class_Map__instance_type__",
    "class_JSFunction__shared__",
    "FirstJSFunctionType",
    "LastJSFunctionType",
    "type_JSFunction__JS_FUNCTION_TYPE",
    "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
    "class_SharedFunctionInfo__name_or_scope_info__",
    "class_SharedFunctionInfo__script_or_debug_info__",
    "class_SharedFunctionInfo__script__",
    "type_DebugInfo__DEBUG_INFO_TYPE",
    "type_BytecodeArray__BYTECODE_ARRAY_TYPE",
    "type_ScopeInfo__SCOPE_INFO_TYPE",
    "parent_ScopeInfo__FixedArray",
    "scopeinfo_idx_ncontextlocals",
    "scopeinfo_idx_first_vars",
    "type_Script__SCRIPT_TYPE",
    "class_Script__name__",
    "class_Script__line_ends__",
    "type_FixedArray__FIXED_ARRAY_TYPE",
    "class_FixedArrayBase__length__",
    "class_FixedArray__data__",
    "IsNotStringMask",
    "StringRepresentationMask",
    "StringEncodingMask",
    "OneByteStringTag",
    "SeqStringTag",
    "ConsStringTag",
    "ExternalStringTag",
    "SlicedStringTag",
    "ThinStringTag",
    "class_String__length__",
    "class_SeqOneByteString__chars__",
    "class_ConsString__first__",
    "class_ConsString__second__",
    "class_SlicedString__parent__",
    "class_SlicedString__offset__",
    "class_ThinString__actual__",
    "class_ExternalString__resource__",
];

/// Whether this is one of the constants that are needed.
pub(super) fn is_wanted(name: &str) -> bool {
    let name = name.strip_prefix(PREFIX);
    name.is_some_and(|name| WANTED.iter().any(|wanted| is(name, wanted)))
}

/// Whether a constant is this one; what ends in an underline only begins so.
fn is(name: &str, wanted: &str) -> bool {
    match wanted.ends_with("__") {
        true => name.starts_with(wanted),
        false => name == wanted,
    }
}

/// Offsets count from where an object begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub frame: FrameLayout,
    pub(super) kind: u64,
    pub(super) kinds: Kinds,
    pub(super) shared: u64,
    pub(super) name_or_scope: u64,
    pub(super) script: u64,
    pub(super) scope: ScopeLayout,
    pub(super) script_name: u64,
    pub(super) script_line_ends: u64,
    pub(super) array_length: u64,
    pub(super) array: u64,
    pub(super) strings: Strings,
}

/// Where a frame has what, below its frame pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameLayout {
    /// An object in frames of functions, and in others a number that says what they are.
    pub context: u64,
    pub function: u64,
    /// In those of interpreted functions.
    pub bytecode: u64,
}

/// By these numbers kinds of objects are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kinds {
    pub function: RangeInclusive<u16>,
    pub shared: u16,
    pub scope: u16,
    pub script: u16,
    pub debug_info: Option<u16>,
    pub bytecode: u16,
    pub array: u16,
}

/// What is known of a function's scope, an array of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopeLayout {
    pub locals: u64,
    pub first_local: u64,
    /// Where the function's place in the source stands, if that is always the same.
    pub place: Option<u64>,
}

/// Ways of writing strings: what of an object's kind says it, and where each has what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Strings {
    pub no_string: u16,
    pub way: u16,
    pub encoding: u16,
    pub one_byte: u16,
    pub sequential: u16,
    pub joined: u16,
    pub external: u16,
    pub sliced: u16,
    pub thin: u16,
    pub length: u64,
    pub characters: u64,
    pub first: u64,
    pub second: u64,
    pub parent: u64,
    pub offset: u64,
    pub actual: u64,
    pub resource: u64,
}

/// The constants of a file.
struct Constants<'a>(&'a [FoundSymbol]);

impl Constants<'_> {
    fn value(&self, wanted: &str) -> Option<i32> {
        let is_it = |place: &&FoundSymbol| {
            let name = place.name.strip_prefix(PREFIX);
            name.is_some_and(|name| is(name, wanted))
        };
        let bytes = &self.0.iter().find(is_it)?.bytes;
        // What the file has only room for is zero.
        Some(i32::from_le_bytes(
            bytes.first_chunk().copied().unwrap_or_default(),
        ))
    }

    fn offset(&self, wanted: &str) -> Option<u64> {
        let value = self.value(wanted)?;
        (0..LARGEST).contains(&value).then_some(value as u64)
    }

    /// What lies below a frame pointer.
    fn below(&self, wanted: &str) -> Option<u64> {
        let value = self.value(wanted)?;
        (-LARGEST..0)
            .contains(&value)
            .then_some(value.unsigned_abs().into())
    }

    fn kind(&self, wanted: &str) -> Option<u16> {
        u16::try_from(self.value(wanted)?).ok()
    }
}

impl Layout {
    /// The layout that a file tells; `None` where it tells too little, or of words that are not as we read them.
    pub(super) fn of(places: &[FoundSymbol]) -> Option<Layout> {
        let constants = Constants(places);
        let is = |name, value| constants.value(name) == Some(value);
        let words = is("SmiTag", 0) && is("SmiTagMask", 1) && is("SmiValueShift", 1);
        let objects = is("SmiShiftSize", 31) && is("HeapObjectTag", 1);
        // Before 9.1 scopes were arrays, laid out in another way.
        if !words || !objects || constants.value("parent_ScopeInfo__FixedArray").is_some() {
            return None;
        }
        let offset = |wanted| constants.offset(wanted);
        Some(Layout {
            frame: FrameLayout {
                context: constants.below("off_fp_context")?,
                function: constants.below("off_fp_function")?,
                // It has been there for longer than it is told.
                bytecode: constants.below("off_fp_bytecode_array").unwrap_or(32),
            },
            kind: offset("class_Map__instance_type__")?,
            kinds: Kinds::of(&constants)?,
            shared: offset("class_JSFunction__shared__")?,
            name_or_scope: offset("class_SharedFunctionInfo__name_or_scope_info__")?,
            script: offset("class_SharedFunctionInfo__script_or_debug_info__")
                .or_else(|| offset("class_SharedFunctionInfo__script__"))?,
            scope: ScopeLayout::of(&constants)?,
            script_name: offset("class_Script__name__")?,
            script_line_ends: offset("class_Script__line_ends__")?,
            array_length: offset("class_FixedArrayBase__length__")?,
            array: offset("class_FixedArray__data__")?,
            strings: Strings::of(&constants)?,
        })
    }
}

impl Kinds {
    fn of(constants: &Constants) -> Option<Kinds> {
        let kind = |wanted| constants.kind(wanted);
        let first = kind("FirstJSFunctionType");
        let first = first.or_else(|| kind("type_JSFunction__JS_FUNCTION_TYPE"))?;
        let last = kind("LastJSFunctionType").or_else(|| first.checked_add(FUNCTION_KINDS))?;
        Some(Kinds {
            function: first..=last,
            shared: kind("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE")?,
            scope: kind("type_ScopeInfo__SCOPE_INFO_TYPE")?,
            script: kind("type_Script__SCRIPT_TYPE")?,
            debug_info: kind("type_DebugInfo__DEBUG_INFO_TYPE"),
            bytecode: kind("type_BytecodeArray__BYTECODE_ARRAY_TYPE")?,
            array: kind("type_FixedArray__FIXED_ARRAY_TYPE")?,
        })
    }
}

impl ScopeLayout {
    fn of(constants: &Constants) -> Option<ScopeLayout> {
        let first_local = constants.offset("scopeinfo_idx_first_vars")?;
        Some(ScopeLayout {
            locals: constants.offset("scopeinfo_idx_ncontextlocals")?,
            first_local,
            // Since 13 it stands before the locals.
            place: match first_local {
                3 => None,
                5 => Some(3),
                _ => return None,
            },
        })
    }
}

impl Strings {
    fn of(constants: &Constants) -> Option<Strings> {
        let offset = |wanted| constants.offset(wanted);
        let kind = |wanted| constants.kind(wanted);
        Some(Strings {
            no_string: constants.value("IsNotStringMask")? as u16,
            way: kind("StringRepresentationMask")?,
            encoding: kind("StringEncodingMask")?,
            one_byte: kind("OneByteStringTag")?,
            sequential: kind("SeqStringTag")?,
            joined: kind("ConsStringTag")?,
            external: kind("ExternalStringTag")?,
            sliced: kind("SlicedStringTag")?,
            thin: kind("ThinStringTag")?,
            length: offset("class_String__length__")?,
            characters: offset("class_SeqOneByteString__chars__")?,
            first: offset("class_ConsString__first__")?,
            second: offset("class_ConsString__second__")?,
            parent: offset("class_SlicedString__parent__")?,
            offset: offset("class_SlicedString__offset__")?,
            actual: offset("class_ThinString__actual__")?,
            resource: offset("class_ExternalString__resource__")?,
        })
    }
}
