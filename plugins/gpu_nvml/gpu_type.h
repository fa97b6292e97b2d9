// The short name of a GPU model.
#pragma once

#include <string>
#include <string_view>

namespace nvml {

// "NVIDIA H100 80GB HBM3" is h100, "Tesla T4" is t4, "NVIDIA GeForce RTX 4090" is rtx4090, "NVIDIA
// RTX 6000 Ada Generation" is rtx6000ada. Never empty, and nothing but lower case letters and
// digits.
std::string gpu_type(std::string_view product_name);

}  // namespace nvml
