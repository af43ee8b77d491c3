//! Parser of expressions.

use super::program::{Binary, FUNCTIONS, Instruction, Operand, Program, Unary};
use crate::error::{Error, Result};

/// Parentheses, signs and powers may nest this deep.
const MAX_NESTING: usize = 200;

/// The precedence of a sign: −x² is −(x²), −x·y is (−x)·y.
const SIGN: u8 = 5;

const BUILT_IN: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];

/// The names that an expression may use; coordinates come before constants of the same name.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    names: &'a [String],
    constants: Vec<(&'a str, f64)>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(names: &'a [String], constants: &'a [(String, f64)]) -> Result<Self> {
        if names.is_empty() {
            return Err(Error::input(
                "expressions need at least one coordinate; give its name",
            ));
        }
        for (k, name) in names.iter().enumerate() {
            if names[..k].contains(name) {
                return Err(Error::input(format!(
                    "two coordinates are named \"{name}\"; rename one of them"
                )));
            }
        }
        let mut known: Vec<(&str, f64)> = Vec::new();
        for (name, value) in constants {
            if names.contains(name) || known.iter().any(|(other, _)| other == name) {
                return Err(Error::input(format!(
                    "the constant \"{name}\" has the name of a coordinate or of another constant; \
                     rename it"
                )));
            }
            if !value.is_finite() {
                return Err(Error::input(format!(
                    "the constant \"{name}\" is {value}; give it a finite value"
                )));
            }
            known.push((name, *value));
        }
        for (name, value) in BUILT_IN {
            let taken = names.iter().any(|other| other == name)
                || known.iter().any(|(other, _)| *other == name);
            if !taken {
                known.push((name, value));
            }
        }
        Ok(Self {
            names,
            constants: known,
        })
    }

    fn find(&self, name: &str) -> Option<Operand> {
        if let Some(i) = self.names.iter().position(|other| other == name) {
            return Some(Operand::Coordinate(i));
        }
        let constant = self.constants.iter().find(|(other, _)| *other == name);
        constant.map(|&(_, value)| Operand::Constant(value))
    }

    fn describe(&self) -> String {
        let constants: Vec<&str> = self.constants.iter().map(|c| c.0).collect();
        let names = self.names.join(", ");
        if constants.is_empty() {
            return format!("the names are {names}");
        }
        format!(
            "the names are {names}, and the constants {}",
            constants.join(", ")
        )
    }
}

/// Translate one expression.
pub(super) fn compile(text: &str, scope: &Scope) -> Result<Program> {
    let mut parser = Parser {
        text: text.chars().collect(),
        place: 0,
        scope,
        nesting: 0,
        code: Vec::new(),
        stack: 0,
        depth: 0,
    };
    let result = parser.expression(0)?;
    if let Some(found) = parser.peek() {
        return Err(parser.error(
            &format!("unexpected \"{found}\""),
            parser.place,
            "an operator + - * / ^ or the end is expected here",
        ));
    }
    Ok(Program {
        code: parser.code,
        result,
        depth: parser.depth,
    })
}

struct Parser<'a> {
    text: Vec<char>,
    place: usize,
    scope: &'a Scope<'a>,
    nesting: usize,
    code: Vec<Instruction>,
    /// Values on the stack after the code so far, and the most there ever were.
    stack: usize,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, what: &str, place: usize, advice: &str) -> Error {
        const SHOWN: usize = 200;
        let shown: String = self.text.iter().take(SHOWN).collect();
        let dots = if self.text.len() > SHOWN { "..." } else { "" };
        Error::input(format!(
            "{what} at column {} of \"{shown}{dots}\"; {advice}",
            place + 1
        ))
    }

    /// The next character that is not a space, which stays.
    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.place)?.is_whitespace() {
            self.place += 1;
        }
        self.text.get(self.place).copied()
    }

    /// An expression whose operators bind at least as tightly as `tightness`.
    fn expression(&mut self, tightness: u8) -> Result<Operand> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.error(
                &format!("more than {MAX_NESTING} nested levels"),
                self.place,
                "split the expression or remove parentheses",
            ));
        }
        let mut left = self.operand()?;
        while let Some(symbol) = self.peek() {
            let (operator, own, next) = match symbol {
                '+' => (Binary::Add, 1, 2),
                '-' => (Binary::Subtract, 1, 2),
                '*' => (Binary::Multiply, 3, 4),
                '/' => (Binary::Divide, 3, 4),
                '^' => (Binary::Power, 8, 7),
                _ => break,
            };
            if own < tightness {
                break;
            }
            let place = self.place;
            self.place += 1;
            let right = self.expression(next)?;
            left = self.binary(operator, left, right, place)?;
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// A number, name, call, parenthesis or sign with what it applies to.
    fn operand(&mut self) -> Result<Operand> {
        const EXPECTED: &str = "a number, a name, a function or \"(\" is expected here";
        let Some(symbol) = self.peek() else {
            return Err(self.error("the expression ends", self.place, EXPECTED));
        };
        let place = self.place;
        match symbol {
            '-' => {
                self.place += 1;
                let operand = self.expression(SIGN)?;
                self.unary(Unary::Negate, operand, place)
            }
            '+' => {
                self.place += 1;
                self.expression(SIGN)
            }
            '(' => self.parenthesis(),
            _ if symbol.is_ascii_digit() || symbol == '.' => self.number(),
            _ if is_letter(symbol) => self.name(),
            _ => Err(self.error(&format!("unexpected \"{symbol}\""), place, EXPECTED)),
        }
    }

    fn parenthesis(&mut self) -> Result<Operand> {
        let open = self.place;
        self.place += 1;
        let inner = self.expression(0)?;
        match self.peek() {
            Some(')') => {
                self.place += 1;
                Ok(inner)
            }
            Some(found) => Err(self.error(
                &format!("unexpected \"{found}\""),
                self.place,
                "an operator + - * / ^ or \")\" is expected here",
            )),
            None => Err(self.error("unclosed \"(\"", open, "add the missing \")\"")),
        }
    }

    fn digits(&mut self) {
        while self.text.get(self.place).is_some_and(char::is_ascii_digit) {
            self.place += 1;
        }
    }

    fn number(&mut self) -> Result<Operand> {
        let start = self.place;
        self.digits();
        if self.text.get(self.place) == Some(&'.') {
            self.place += 1;
            self.digits();
        }
        // An "e" counts only where digits follow, for it may be a name.
        let mantissa = self.place;
        if matches!(self.text.get(self.place), Some('e' | 'E')) {
            self.place += 1;
            if matches!(self.text.get(self.place), Some('+' | '-')) {
                self.place += 1;
            }
            let exponent = self.place;
            self.digits();
            if self.place == exponent {
                self.place = mantissa;
            }
        }
        let text: String = self.text[start..self.place].iter().collect();
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Operand::Constant(value)),
            Ok(_) => Err(self.error(
                &format!("the number \"{text}\" is too large"),
                start,
                "give one below 1.8e308",
            )),
            Err(_) => Err(self.error(
                &format!("\"{text}\" is not a number"),
                start,
                "write numbers like 2, 0.5 or 1e-3",
            )),
        }
    }

    fn name(&mut self) -> Result<Operand> {
        let start = self.place;
        let letters = self.text[start..].iter();
        self.place += letters
            .take_while(|&&c| is_letter(c) || c.is_ascii_digit())
            .count();
        let name: String = self.text[start..self.place].iter().collect();
        let function = FUNCTIONS.iter().find(|(known, _)| *known == name);
        if let Some(&(_, function)) = function
            && self.peek() == Some('(')
        {
            let argument = self.parenthesis()?;
            return self.unary(function, argument, start);
        }
        if let Some(operand) = self.scope.find(&name) {
            return Ok(operand);
        }
        if function.is_some() {
            return Err(self.error(
                &format!("the function \"{name}\" without its argument"),
                start,
                &format!("write {name}(...)"),
            ));
        }
        let mut advice = self.scope.describe();
        if self.peek() == Some('(') {
            let functions: Vec<&str> = FUNCTIONS.iter().map(|f| f.0).collect();
            advice = format!("the functions are {}; {advice}", functions.join(", "));
        }
        Err(self.error(&format!("unknown name \"{name}\""), start, &advice))
    }

    fn constant(&self, value: f64, place: usize) -> Result<Operand> {
        if value.is_finite() {
            return Ok(Operand::Constant(value));
        }
        Err(self.error(
            &format!("the constant part gives {value}"),
            place,
            "check it for a division by zero, an overflow or an argument outside the domain",
        ))
    }

    fn unary(&mut self, function: Unary, operand: Operand, place: usize) -> Result<Operand> {
        if let Operand::Constant(value) = operand {
            return self.constant(function.value(value), place);
        }
        self.emit(Instruction::Unary(function, operand), &[operand]);
        Ok(Operand::Stack)
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: Operand,
        right: Operand,
        place: usize,
    ) -> Result<Operand> {
        if let (Binary::Power, Operand::Constant(exponent)) = (operator, right)
            && exponent.fract() == 0.0
            && exponent.abs() <= 1e9
        {
            return self.unary(Unary::Power(exponent as i32), left, place);
        }
        if let (Operand::Constant(a), Operand::Constant(b)) = (left, right) {
            return self.constant(operator.value(a, b), place);
        }
        self.emit(Instruction::Binary(operator, left, right), &[left, right]);
        Ok(Operand::Stack)
    }

    fn emit(&mut self, instruction: Instruction, operands: &[Operand]) {
        let taken = operands.iter().filter(|&&o| o == Operand::Stack).count();
        self.stack = self.stack - taken + 1;
        self.depth = self.depth.max(self.stack);
        self.code.push(instruction);
    }
}

fn is_letter(symbol: char) -> bool {
    symbol.is_alphabetic() || symbol == '_'
}
