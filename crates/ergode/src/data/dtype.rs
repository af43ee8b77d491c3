//! The element types of stored numbers.

/// The type of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F4,
    F8,
    I1,
    I2,
    I4,
    I8,
    U1,
    U2,
    U4,
    U8,
    /// Text of this many characters of four bytes each.
    Text(usize),
}

/// The type of the elements of an array and the order of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dtype {
    pub(crate) element: Element,
    pub(crate) big_endian: bool,
}

impl Dtype {
    /// Little-endian single precision.
    pub(crate) const F32: Self = Self::little(Element::F4);
    /// Little-endian double precision.
    pub(crate) const F64: Self = Self::little(Element::F8);

    /// Little-endian single or double precision.
    pub(crate) fn float(single: bool) -> Self {
        if single { Self::F32 } else { Self::F64 }
    }

    /// Little-endian elements.
    pub(crate) const fn little(element: Element) -> Self {
        Self {
            element,
            big_endian: false,
        }
    }

    /// Bytes per element.
    pub(crate) fn size(self) -> usize {
        match self.element {
            Element::I1 | Element::U1 => 1,
            Element::I2 | Element::U2 => 2,
            Element::F4 | Element::I4 | Element::U4 => 4,
            Element::F8 | Element::I8 | Element::U8 => 8,
            Element::Text(characters) => 4 * characters,
        }
    }

    /// True for floating-point elements.
    pub(crate) fn is_float(self) -> bool {
        matches!(self.element, Element::F4 | Element::F8)
    }

    /// The name NumPy gives to this type.
    pub(crate) fn descr(self) -> String {
        let order = match (self.size(), self.big_endian) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        let rest = match self.element {
            Element::F4 => "f4",
            Element::F8 => "f8",
            Element::I1 => "i1",
            Element::I2 => "i2",
            Element::I4 => "i4",
            Element::I8 => "i8",
            Element::U1 => "u1",
            Element::U2 => "u2",
            Element::U4 => "u4",
            Element::U8 => "u8",
            Element::Text(characters) => return format!("{order}U{characters}"),
        };
        format!("{order}{rest}")
    }
}
