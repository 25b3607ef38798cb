#include "calib/device/nvml_clock.h"

#include <dlfcn.h>

namespace tessella::calib {
namespace {

// The part of NVML's stable interface used here; its header is not part of every toolkit.
using Handle = struct nvmlDevice_st*;
constexpr int kClockSm = 1;        // NVML_CLOCK_SM
constexpr int kTemperatureGpu = 0; // NVML_TEMPERATURE_GPU
constexpr unsigned long long kHardwareSlowdown = 0x8;
constexpr unsigned long long kThermalSoftware = 0x20;
constexpr unsigned long long kThermalHardware = 0x40;
constexpr unsigned long long kPowerBrake = 0x80;

class Library {
 public:
  Library() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    load(init_, "nvmlInit_v2");
    load(shutdown_, "nvmlShutdown");
    load(by_bus_, "nvmlDeviceGetHandleByPciBusId_v2");
    load(clock, "nvmlDeviceGetClockInfo");
    load(power, "nvmlDeviceGetPowerUsage");
    load(temperature, "nvmlDeviceGetTemperature");
    load(reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    if (reasons == nullptr) load(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"); // its older name
    ready_ = init_ != nullptr && by_bus_ != nullptr && init_() == 0;
  }
  ~Library() {
    if (ready_ && shutdown_ != nullptr) shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  Handle device(const std::string& bus) const {
    Handle handle = nullptr;
    return ready_ && by_bus_(bus.c_str(), &handle) == 0 ? handle : nullptr;
  }

  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*reasons)(Handle, unsigned long long*) = nullptr;

 private:
  template <class Function>
  void load(Function& function, const char* name) {
    if (library_ != nullptr) function = reinterpret_cast<Function>(::dlsym(library_, name));
  }

  void* library_;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*by_bus_)(const char*, Handle*) = nullptr;
};

class NvmlClock : public ClockSource {
 public:
  explicit NvmlClock(const std::string& bus) : device_(library_.device(bus)) {}

  void begin() override { slowed_ = current_slowdown(); }

  DeviceState end() override {
    DeviceState s;
    if (device_ == nullptr) return s;
    slowed_ |= current_slowdown();
    s.throttled = slowed_ != 0;
    if ((slowed_ & (kThermalHardware | kThermalSoftware)) != 0)
      s.reason = "thermal slowdown";
    else if (slowed_ != 0)
      s.reason = "hardware slowdown";
    unsigned value = 0;
    if (library_.clock != nullptr && library_.clock(device_, kClockSm, &value) == 0) s.clock_mhz = value;
    if (library_.power != nullptr && library_.power(device_, &value) == 0) s.power_w = 1e-3 * value;
    if (library_.temperature != nullptr && library_.temperature(device_, kTemperatureGpu, &value) == 0)
      s.temperature_c = value;
    return s;
  }

 private:
  unsigned long long current_slowdown() const {
    unsigned long long now = 0;
    if (device_ == nullptr || library_.reasons == nullptr || library_.reasons(device_, &now) != 0) return 0;
    return now & (kHardwareSlowdown | kThermalSoftware | kThermalHardware | kPowerBrake);
  }

  Library library_;
  Handle device_;
  unsigned long long slowed_ = 0;
};

} // namespace

std::unique_ptr<ClockSource> gpu_clock(const std::string& pci_bus_id) {
  return std::make_unique<NvmlClock>(pci_bus_id);
}

} // namespace tessella::calib
