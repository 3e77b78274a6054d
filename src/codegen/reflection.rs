//! What a SPIR-V module says of itself: capabilities, bindings, push constants, specialization constants,
//! shared memory, instruction counts. Reads the binary with rspirv's parser and a consumer of its own, since
//! rspirv's loader refuses OpExecutionModeId. Must not know the declared interface: see [`super::interface`].

use std::collections::{BTreeMap, BTreeSet};

use rspirv::binary::ParseAction;
use rspirv::dr::{Instruction, ModuleHeader, Operand};
use rspirv::spirv::{BuiltIn, Capability, Decoration, Dim, ExecutionMode, ImageFormat, Op, StorageClass};

use super::spirv;
use crate::matrix::{GlslType, Requirements, StaticCounts};

/// What a descriptor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// A storage buffer whose last member is an array; the stride of its elements in bytes.
    StorageBuffer {
        stride_bytes: Option<u32>,
    },
    UniformBuffer,
    StorageImage {
        dimension: &'static str,
        format: String,
    },
    /// An image with its sampler.
    SampledImage {
        dimension: &'static str,
    },
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflectedBinding {
    pub set: u32,
    pub binding: u32,
    pub resource: Resource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflectedPushField {
    pub offset_bytes: u32,
    /// `None` for a type that no push constant can be declared with.
    pub ty: Option<GlslType>,
}

/// A module as its binary describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reflection {
    /// SPIR-V names, sorted.
    pub capabilities: Vec<String>,
    /// Sorted by set and binding.
    pub bindings: Vec<ReflectedBinding>,
    pub push: Vec<ReflectedPushField>,
    pub push_bytes: u32,
    /// Specialization constants by id; a bool is a uint to Vulkan, but a bool here.
    pub spec: BTreeMap<u32, GlslType>,
    /// Ids that give the local size on x, y, z; `None` where it is a literal.
    pub local_size_ids: [Option<u32>; 3],
    /// The local size with every constant at its default.
    pub local_size: [u32; 3],
    /// Shared memory with every constant at its default, or at the local size of [`Reflection::read_at`].
    pub shared_bytes: u32,
    pub counts: StaticCounts,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReflectionError {
    #[error("the SPIR-V cannot be parsed: {0}")]
    Unparsable(String),
}

impl Reflection {
    /// Reads a module from its bytes.
    pub fn read(spirv_bytes: &[u8]) -> Result<Reflection, ReflectionError> {
        Self::parse(spirv_bytes, Consumer::default())
    }

    /// The same with the local size specialised (constants 0, 1 and 2), which shared arrays may be sized by.
    pub fn read_at(spirv_bytes: &[u8], local: [u32; 3]) -> Result<Reflection, ReflectionError> {
        Self::parse(spirv_bytes, Consumer { local: Some(local), ..Consumer::default() })
    }

    fn parse(spirv_bytes: &[u8], mut consumer: Consumer) -> Result<Reflection, ReflectionError> {
        spirv::parse(spirv_bytes, &mut consumer)?;
        Ok(consumer.finish())
    }

    /// What a device must offer.
    pub fn requirements(&self) -> Requirements {
        let mut features: BTreeSet<String> = BTreeSet::new();
        for capability in &self.capabilities {
            match feature_of(capability) {
                Feature::Core => {}
                Feature::Named(name) => {
                    features.insert(name.to_string());
                }
                // Fail closed: a device that cannot be asked for it does not have it.
                Feature::Unknown => {
                    features.insert(format!("spirv:{capability}"));
                }
            }
        }
        Requirements {
            features: features.into_iter().collect(),
            push_bytes: self.push_bytes,
            shared_bytes: self.shared_bytes,
        }
    }
}

enum Feature {
    /// Every Vulkan 1.1 compute device has it.
    Core,
    Named(&'static str),
    Unknown,
}

/// The Vulkan feature that a capability needs. Subgroup operations are bits of a property, not features;
/// they get names of the same form.
fn feature_of(capability: &str) -> Feature {
    Feature::Named(match capability {
        "Matrix" | "Shader" | "Sampled1D" | "Image1D" | "SampledBuffer" | "ImageBuffer" | "ImageQuery"
        | "DerivativeControl" => return Feature::Core,
        "Float16" => "shaderFloat16",
        "Float64" => "shaderFloat64",
        "Int8" => "shaderInt8",
        "Int16" => "shaderInt16",
        "Int64" => "shaderInt64",
        "StorageBuffer16BitAccess" => "storageBuffer16BitAccess",
        "UniformAndStorageBuffer16BitAccess" => "uniformAndStorageBuffer16BitAccess",
        "StoragePushConstant16" => "storagePushConstant16",
        "StorageInputOutput16" => "storageInputOutput16",
        "StorageBuffer8BitAccess" => "storageBuffer8BitAccess",
        "UniformAndStorageBuffer8BitAccess" => "uniformAndStorageBuffer8BitAccess",
        "StoragePushConstant8" => "storagePushConstant8",
        "StorageImageExtendedFormats" => "shaderStorageImageExtendedFormats",
        "StorageImageReadWithoutFormat" => "shaderStorageImageReadWithoutFormat",
        "StorageImageWriteWithoutFormat" => "shaderStorageImageWriteWithoutFormat",
        "StorageImageMultisample" => "shaderStorageImageMultisample",
        "ImageGatherExtended" => "shaderImageGatherExtended",
        "StorageBufferArrayDynamicIndexing" => "shaderStorageBufferArrayDynamicIndexing",
        "StorageImageArrayDynamicIndexing" => "shaderStorageImageArrayDynamicIndexing",
        "SampledImageArrayDynamicIndexing" => "shaderSampledImageArrayDynamicIndexing",
        "VariablePointersStorageBuffer" => "variablePointersStorageBuffer",
        "VariablePointers" => "variablePointers",
        "VulkanMemoryModel" => "vulkanMemoryModel",
        "VulkanMemoryModelDeviceScope" => "vulkanMemoryModelDeviceScope",
        "PhysicalStorageBufferAddresses" => "bufferDeviceAddress",
        "RuntimeDescriptorArray" => "runtimeDescriptorArray",
        "Int64Atomics" => "shaderBufferInt64Atomics",
        "AtomicFloat32AddEXT" => "shaderBufferFloat32AtomicAdd",
        "DotProduct" | "DotProductInputAll" | "DotProductInput4x8Bit" | "DotProductInput4x8BitPacked" => {
            "shaderIntegerDotProduct"
        }
        "CooperativeMatrixKHR" => "cooperativeMatrix",
        "GroupNonUniform" => "subgroupBasic",
        "GroupNonUniformVote" => "subgroupVote",
        "GroupNonUniformArithmetic" => "subgroupArithmetic",
        "GroupNonUniformBallot" => "subgroupBallot",
        "GroupNonUniformShuffle" => "subgroupShuffle",
        "GroupNonUniformShuffleRelative" => "subgroupShuffleRelative",
        "GroupNonUniformClustered" => "subgroupClustered",
        "GroupNonUniformQuad" => "subgroupQuad",
        _ => return Feature::Unknown,
    })
}

#[derive(Debug, Clone)]
enum Type {
    Bool,
    Int { bits: u32, signed: bool },
    Float { bits: u32 },
    Vector { of: u32, n: u32 },
    Matrix { of: u32, n: u32 },
    Array { of: u32, length: u32 },
    RuntimeArray,
    Struct { members: Vec<u32> },
    Image { dimension: Dim, is_storage: bool, format: ImageFormat },
    SampledImage { image: u32 },
    Pointer { to: u32 },
}

#[derive(Default)]
struct Consumer {
    /// In place of the defaults of constants 0, 1 and 2.
    local: Option<[u32; 3]>,
    capabilities: BTreeSet<String>,
    types: BTreeMap<u32, Type>,
    /// Integer constants at their (default) value, specialised ones included.
    constants: BTreeMap<u32, u32>,
    /// Type of every specialization constant.
    spec_types: BTreeMap<u32, u32>,
    composites: BTreeMap<u32, Vec<u32>>,
    variables: Vec<(u32, u32, StorageClass)>,
    spec_ids: BTreeMap<u32, u32>,
    sets: BTreeMap<u32, u32>,
    binding_numbers: BTreeMap<u32, u32>,
    strides: BTreeMap<u32, u32>,
    member_offsets: BTreeMap<(u32, u32), u32>,
    buffer_blocks: BTreeSet<u32>,
    workgroup_size: Option<u32>,
    local_size: [u32; 3],
    local_size_ids: Option<[u32; 3]>,
    glsl_import: Option<u32>,
    /// Storage class of pointers made in functions.
    pointer_classes: BTreeMap<u32, StorageClass>,
    products: BTreeSet<u32>,
    in_function: bool,
    counts: StaticCounts,
}

impl rspirv::binary::Consumer for Consumer {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, instruction: Instruction) -> ParseAction {
        self.take(&instruction);
        ParseAction::Continue
    }
}

/// The number in an operand, if it is one.
fn number(instruction: &Instruction, n: usize) -> Option<u32> {
    match instruction.operands.get(n)? {
        Operand::IdRef(value)
        | Operand::LiteralBit32(value)
        | Operand::IdScope(value)
        | Operand::IdMemorySemantics(value) => Some(*value),
        _ => None,
    }
}

fn numbers(instruction: &Instruction, from: usize) -> Vec<u32> {
    (from..instruction.operands.len()).filter_map(|n| number(instruction, n)).collect()
}

impl Consumer {
    fn take(&mut self, instruction: &Instruction) -> Option<()> {
        let id = instruction.result_id;
        match instruction.class.opcode {
            Op::Capability => {
                if let Some(Operand::Capability(capability)) = instruction.operands.first() {
                    self.capabilities.insert(capability_name(*capability));
                }
            }
            Op::ExtInstImport => {
                if let Some(Operand::LiteralString(name)) = instruction.operands.first()
                    && name == "GLSL.std.450"
                {
                    self.glsl_import = id;
                }
            }
            Op::ExecutionMode => {
                if let Some(Operand::ExecutionMode(ExecutionMode::LocalSize)) = instruction.operands.get(1) {
                    self.local_size = <[u32; 3]>::try_from(numbers(instruction, 2)).ok()?;
                }
            }
            Op::ExecutionModeId => {
                if let Some(Operand::ExecutionMode(ExecutionMode::LocalSizeId)) = instruction.operands.get(1) {
                    self.local_size_ids = <[u32; 3]>::try_from(numbers(instruction, 2)).ok();
                }
            }
            Op::Decorate => {
                let target = number(instruction, 0)?;
                let Some(Operand::Decoration(decoration)) = instruction.operands.get(1) else { return None };
                let value = number(instruction, 2);
                match decoration {
                    Decoration::SpecId => self.spec_ids.insert(target, value?),
                    Decoration::DescriptorSet => self.sets.insert(target, value?),
                    Decoration::Binding => self.binding_numbers.insert(target, value?),
                    Decoration::ArrayStride => self.strides.insert(target, value?),
                    Decoration::BufferBlock => {
                        self.buffer_blocks.insert(target);
                        None
                    }
                    Decoration::BuiltIn => {
                        if let Some(Operand::BuiltIn(BuiltIn::WorkgroupSize)) = instruction.operands.get(2) {
                            self.workgroup_size = Some(target);
                        }
                        None
                    }
                    _ => None,
                };
            }
            Op::MemberDecorate => {
                if let Some(Operand::Decoration(Decoration::Offset)) = instruction.operands.get(2) {
                    self.member_offsets
                        .insert((number(instruction, 0)?, number(instruction, 1)?), number(instruction, 3)?);
                }
            }
            Op::TypeBool => self.define(id?, Type::Bool),
            Op::TypeInt => {
                self.define(id?, Type::Int { bits: number(instruction, 0)?, signed: number(instruction, 1)? == 1 })
            }
            Op::TypeFloat => self.define(id?, Type::Float { bits: number(instruction, 0)? }),
            Op::TypeVector => {
                self.define(id?, Type::Vector { of: number(instruction, 0)?, n: number(instruction, 1)? })
            }
            Op::TypeMatrix => {
                self.define(id?, Type::Matrix { of: number(instruction, 0)?, n: number(instruction, 1)? })
            }
            Op::TypeArray => {
                // Fail closed: a length that cannot be computed is more than any device has.
                let length = self.constants.get(&number(instruction, 1)?).copied().unwrap_or(u32::MAX);
                self.define(id?, Type::Array { of: number(instruction, 0)?, length });
            }
            Op::TypeRuntimeArray => self.define(id?, Type::RuntimeArray),
            Op::TypeStruct => self.define(id?, Type::Struct { members: numbers(instruction, 0) }),
            Op::TypeImage => {
                let Some(Operand::Dim(dimension)) = instruction.operands.get(1) else { return None };
                let Some(Operand::ImageFormat(format)) = instruction.operands.get(6) else { return None };
                let is_storage = number(instruction, 5)? == 2;
                self.define(id?, Type::Image { dimension: *dimension, is_storage, format: *format });
            }
            Op::TypeSampledImage => self.define(id?, Type::SampledImage { image: number(instruction, 0)? }),
            Op::TypePointer => self.define(id?, Type::Pointer { to: number(instruction, 1)? }),
            Op::Constant => {
                if let Some(value) = number(instruction, 0) {
                    self.constants.insert(id?, value);
                }
            }
            Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse => {
                self.spec_types.insert(id?, instruction.result_type?);
                let value = match (self.local, self.spec_ids.get(&id?)) {
                    // Of the declared constants no value is known here: no size may hang on them.
                    (Some(local), Some(at)) => local.get(*at as usize).copied(),
                    _ => number(instruction, 0),
                };
                if let Some(value) = value {
                    self.constants.insert(id?, value);
                }
            }
            Op::SpecConstantOp => {
                if let Some(value) = self.evaluate(instruction) {
                    self.constants.insert(id?, value);
                }
            }
            Op::ConstantComposite | Op::SpecConstantComposite => {
                self.composites.insert(id?, numbers(instruction, 0));
            }
            Op::Variable => {
                let Some(Operand::StorageClass(class)) = instruction.operands.first() else { return None };
                self.pointer_classes.insert(id?, *class);
                if !self.in_function {
                    self.variables.push((id?, instruction.result_type?, *class));
                }
            }
            Op::Function => self.in_function = true,
            Op::FunctionEnd => self.in_function = false,
            Op::FunctionParameter | Op::Label => {}
            _ if self.in_function => self.count(instruction)?,
            _ => {}
        }
        Some(())
    }

    fn count(&mut self, instruction: &Instruction) -> Option<()> {
        self.counts.n_instructions += 1;
        let id = instruction.result_id;
        match instruction.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain => {
                let class = *self.pointer_classes.get(&number(instruction, 0)?)?;
                self.pointer_classes.insert(id?, class);
            }
            Op::Load => {
                let class = self.pointer_classes.get(&number(instruction, 0)?)?;
                if matches!(
                    class,
                    StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::PhysicalStorageBuffer
                ) {
                    self.counts.n_loads += 1;
                }
            }
            Op::ImageFetch
            | Op::ImageRead
            | Op::ImageGather
            | Op::ImageSampleExplicitLod
            | Op::ImageSampleImplicitLod => self.counts.n_loads += 1,
            // GLSL.std.450 instruction 50 is Fma.
            Op::ExtInst
                if number(instruction, 0) == self.glsl_import
                    && matches!(instruction.operands.get(1), Some(Operand::LiteralExtInstInteger(50))) =>
            {
                self.counts.n_fmas += 1;
            }
            Op::FMul | Op::VectorTimesScalar => {
                self.products.insert(id?);
            }
            // A product that feeds a sum: what compilers contract.
            Op::FAdd if numbers(instruction, 0).iter().any(|operand| self.products.contains(operand)) => {
                self.counts.n_fmas += 1;
            }
            _ => {}
        }
        Some(())
    }

    /// The value of an operation on constants; `None` for what no size is computed with.
    fn evaluate(&self, instruction: &Instruction) -> Option<u32> {
        let Some(Operand::LiteralSpecConstantOpInteger(op)) = instruction.operands.first() else { return None };
        if *op == Op::CompositeExtract {
            let composite = self.composites.get(&number(instruction, 1)?)?;
            return self.constants.get(composite.get(number(instruction, 2)? as usize)?).copied();
        }
        let value = |n| self.constants.get(&number(instruction, n)?).copied();
        let (a, b) = (value(1)?, value(2)?);
        match op {
            Op::IAdd => a.checked_add(b),
            Op::ISub => a.checked_sub(b),
            Op::IMul => a.checked_mul(b),
            Op::UDiv | Op::SDiv => a.checked_div(b),
            Op::UMod | Op::SRem | Op::SMod => a.checked_rem(b),
            Op::ShiftLeftLogical => a.checked_shl(b),
            Op::ShiftRightLogical => a.checked_shr(b),
            _ => None,
        }
    }

    fn define(&mut self, id: u32, ty: Type) {
        self.types.insert(id, ty);
    }

    fn finish(self) -> Reflection {
        let spec_id = |id: &u32| self.spec_ids.get(id).copied();
        let value = |id: &u32| self.constants.get(id).copied().unwrap_or(1);
        // glslang decorates a composite as WorkgroupSize; newer modules use LocalSizeId.
        let local = self
            .workgroup_size
            .and_then(|id| self.composites.get(&id))
            .and_then(|ids| <[u32; 3]>::try_from(ids.as_slice()).ok())
            .or(self.local_size_ids);
        let (local_size_ids, local_size) = match local {
            Some(ids) => (ids.map(|id| spec_id(&id)), ids.map(|id| value(&id))),
            None => ([None; 3], self.local_size),
        };
        let spec = self
            .spec_ids
            .iter()
            .filter_map(|(id, spec)| Some((*spec, self.scalar_type(*self.spec_types.get(id)?)?)))
            .collect();
        let mut reflection = Reflection {
            capabilities: self.capabilities.iter().cloned().collect(),
            spec,
            local_size_ids,
            local_size,
            counts: self.counts.clone(),
            ..Reflection::default()
        };
        for (id, pointer, class) in &self.variables {
            let Some(Type::Pointer { to }) = self.types.get(pointer) else { continue };
            match class {
                StorageClass::Workgroup => {
                    reflection.shared_bytes = reflection.shared_bytes.saturating_add(self.size_bytes(*to))
                }
                StorageClass::PushConstant => {
                    if let Some(Type::Struct { members }) = self.types.get(to) {
                        for (n, member) in members.iter().enumerate() {
                            let offset_bytes = self.member_offsets.get(&(*to, n as u32)).copied().unwrap_or(0);
                            reflection.push.push(ReflectedPushField { offset_bytes, ty: self.value_type(*member) });
                            reflection.push_bytes =
                                reflection.push_bytes.max(offset_bytes.saturating_add(self.size_bytes(*member)));
                        }
                    }
                }
                StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::UniformConstant => {
                    if let Some(binding) = self.binding_numbers.get(id) {
                        let resource = self.resource(*to, *class);
                        reflection.bindings.push(ReflectedBinding {
                            set: self.sets.get(id).copied().unwrap_or(0),
                            binding: *binding,
                            resource,
                        });
                    }
                }
                _ => {}
            }
        }
        reflection.bindings.sort_by_key(|binding| (binding.set, binding.binding));
        reflection
    }

    fn resource(&self, ty: u32, class: StorageClass) -> Resource {
        match self.types.get(&ty) {
            Some(Type::Struct { members })
                if class == StorageClass::StorageBuffer || self.buffer_blocks.contains(&ty) =>
            {
                Resource::StorageBuffer {
                    stride_bytes: members.last().and_then(|member| self.strides.get(member)).copied(),
                }
            }
            Some(Type::Struct { .. }) => Resource::UniformBuffer,
            Some(Type::Image { dimension, is_storage: true, format }) => Resource::StorageImage {
                dimension: dimension_name(*dimension),
                format: format!("{format:?}").to_lowercase(),
            },
            Some(Type::SampledImage { image }) => match self.types.get(image) {
                Some(Type::Image { dimension, .. }) => Resource::SampledImage { dimension: dimension_name(*dimension) },
                _ => Resource::Other("sampled image".into()),
            },
            other => Resource::Other(format!("{other:?}")),
        }
    }

    fn scalar_type(&self, ty: u32) -> Option<GlslType> {
        match self.types.get(&ty)? {
            Type::Bool => Some(GlslType::Bool),
            Type::Int { bits: 32, signed: true } => Some(GlslType::Int),
            Type::Int { bits: 32, signed: false } => Some(GlslType::Uint),
            Type::Float { bits: 32 } => Some(GlslType::Float),
            _ => None,
        }
    }

    fn value_type(&self, ty: u32) -> Option<GlslType> {
        let Some(Type::Vector { of, n }) = self.types.get(&ty) else { return self.scalar_type(ty) };
        match (self.scalar_type(*of)?, n) {
            (GlslType::Float, 2) => Some(GlslType::Vec2),
            (GlslType::Float, 4) => Some(GlslType::Vec4),
            (GlslType::Int, 2) => Some(GlslType::Ivec2),
            (GlslType::Int, 4) => Some(GlslType::Ivec4),
            (GlslType::Uint, 4) => Some(GlslType::Uvec4),
            _ => None,
        }
    }

    /// Tightly packed size, which is what shared memory takes at least.
    fn size_bytes(&self, ty: u32) -> u32 {
        match self.types.get(&ty) {
            Some(Type::Bool) => 4,
            Some(Type::Int { bits, .. } | Type::Float { bits }) => bits / 8,
            Some(Type::Vector { of, n } | Type::Matrix { of, n }) => self.size_bytes(*of).saturating_mul(*n),
            Some(Type::Array { of, length }) => self.size_bytes(*of).saturating_mul(*length),
            Some(Type::Struct { members }) => {
                members.iter().fold(0, |sum, member| sum.saturating_add(self.size_bytes(*member)))
            }
            _ => 0,
        }
    }
}

fn dimension_name(dimension: Dim) -> &'static str {
    match dimension {
        Dim::Dim1D => "1D",
        Dim::Dim2D => "2D",
        Dim::Dim3D => "3D",
        Dim::DimCube => "cube",
        Dim::DimBuffer => "buffer",
        _ => "other",
    }
}

fn capability_name(capability: Capability) -> String {
    format!("{capability:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::compiler::Compiler;

    fn shared_bytes(shared: &str, local: [u32; 3]) -> u32 {
        let source = format!(
            "#version 450\nlayout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n\
             layout(constant_id = 3) const uint stages = 2u;\nconst uint tile = gl_WorkGroupSize.y * 4u;\n\
             layout(set = 0, binding = 0) buffer B {{ float b[]; }};\nshared {shared};\n\
             void main() {{\n  s[gl_LocalInvocationIndex % 2u][0] = 1.0;\n  barrier();\n  b[0] = s[0][0];\n}}\n"
        );
        Reflection::read_at(&Compiler::new().unwrap().compile(&source).unwrap(), local).unwrap().shared_bytes
    }

    #[test]
    fn shared_memory_is_counted_at_the_local_size_and_never_too_low() {
        assert_eq!(shared_bytes("vec4 s[32]", [64, 64, 1]), 512);
        assert_eq!(shared_bytes("vec4 s[tile * 2u]", [8, 16, 1]), 16 * 4 * 16 * 2);
        assert_eq!(shared_bytes("vec4 s[gl_WorkGroupSize.x * gl_WorkGroupSize.y / 2u]", [8, 16, 1]), 16 * 64);
        for unknown in ["vec4 s[stages + tile]", "float s[stages][64]", "vec4 s[tile > 4u ? 9u : tile]"] {
            assert_eq!(shared_bytes(unknown, [8, 8, 1]), u32::MAX, "{unknown}");
        }
        assert_eq!(shared_bytes("vec4 s[tile * 2u]", [1, 1 << 30, 1]), u32::MAX, "too many for 32 bits");
    }
}
