"""Python packages that are no secret and say something about PyTorch on a machine: what a report may name.

Everything else that is installed is the user's own business, and may be called after a project or an employer.
Names as pip normalises them. Sources, 2026-11-30: the rules of this project, and the most downloaded packages of PyPI
that ask for torch.
"""

from __future__ import annotations

import re

_TORCH = """
torch torchvision torchaudio torchtext torchdata torchao torchtune torchmetrics torch-directml torchcodec torchrec
torch-geometric torch-scatter torch-sparse torchsde torchdiffeq torchlibrosa functorch pytorch pytorch-mutex
pytorch-lightning lightning lightning-utilities triton triton-rocm triton-windows pytorch-triton pytorch-triton-rocm
pytorch-triton-xpu zentorch intel-extension-for-pytorch ipex-llm amd-torch amd-quark
"""
_LIBRARIES = """
numpy scipy mkl mkl-service mkl-fft mkl-random intel-openmp llvm-openmp libopenblas openblas blas blis tbb libgomp
_openmp_mutex threadpoolctl numexpr numba llvmlite scikit-learn pandas pyarrow opencv-python opencv-python-headless
pillow onnx onnxruntime onnxruntime-gpu onnxruntime-rocm onnxruntime-directml onnxruntime-migraphx directml
tensorflow tensorflow-cpu tensorflow-rocm tensorflow-directml-plugin jax jaxlib jax-rocm60-plugin jax-rocm7-plugin
cupy rocm rocm-sdk rocm-sdk-core rocm-bootstrap rocm-docs-core hip-python ninja cmake
"""
_USERS_OF_TORCH = """
accelerate aiter autoawq auto-gptq basicsr bitsandbytes causal-conv1d clip-anytorch comfyui compressed-tensors
controlnet-aux datasets deepspeed detectron2 diffusers easyocr encodec exllamav2 facexlib fairscale fairseq fastai
faster-whisper flash-attn gfpgan gguf gptqmodel invokeai k-diffusion kornia litellm llama-cpp-python llmcompressor
mamba-ssm mmcv mmengine moviepy nemo-toolkit open-clip-torch openai-clip openai-whisper optimum optimum-amd
optuna outlines peft pyannote-audio pyro-ppl ray realesrgan rembg safetensors sageattention segment-anything
sentence-transformers sentencepiece sglang skorch spandrel spacy spacy-transformers speechbrain stable-baselines3
stanza tensordict tensorrt thinc tiktoken timm tokenizers transformers trl ultralytics ultralytics-thop unsloth
unsloth-zoo vllm whisperx xformers xgrammar huggingface-hub lion-pytorch pytorch-optimizer prodigyopt dadaptation
schedulefree adabelief-pytorch einops rotary-embedding-torch ema-pytorch vector-quantize-pytorch x-transformers
local-attention torch-fidelity torch-tb-profiler torch-pruning pytorch-msssim pytorch-metric-learning pytorch-warmup
pytorch-forecasting pytorch-tabnet lpips clean-fid kornia-rs xatlas descript-audio-codec demucs audiocraft
vocos f5-tts coqui-tts tts chatterbox-tts kokoro nvidia-modelopt hqq quanto optimum-quanto torchseg bitsandbytes-rocm
segmentation-models-pytorch efficientnet-pytorch pretrainedmodels albumentations monai nnunetv2 gpytorch botorch
allennlp flair simpletransformers setfit bertopic keybert adapters evaluate ctranslate2 hummingbird-ml captum shap
tensorboard wandb mlflow clearml comet-ml
"""
_TOOLS = """
pip setuptools wheel uv conda mamba poetry filelock typing-extensions sympy networkx jinja2 fsspec mpmath markupsafe
packaging python amd-doctor
"""

KNOWN_PACKAGES = frozenset(f"{_TORCH} {_LIBRARIES} {_USERS_OF_TORCH} {_TOOLS}".split())

#: Families with a number or a target in each name.
_FAMILIES = re.compile(
    r"nvidia-[a-z]{3,20}(?:-[a-z]{2,12})?(?:-cu\d{2})?|cuda-(?:toolkit|bindings|python|pathfinder)"
    r"|rocm-sdk-(?:core|devel|libraries|device)(?:-[a-z0-9]+)*|amd-torch-device-gfx[0-9a-f]+"
    r"|intel-(?:sycl-rt|cmplr-lib-rt|cmplr-lib-ur|opencl-rt|pti)|jax-rocm\d+-(?:plugin|pjrt)"
)


def is_known_package(name: str) -> bool:
    """May a report name it?"""
    return name in KNOWN_PACKAGES or _FAMILIES.fullmatch(name) is not None
