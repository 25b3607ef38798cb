#include "sim/report/gzip_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "sim/base/check.h"

namespace tessella {

// zlib's stream with its output buffer.
struct GzipFile::Deflater {
  z_stream stream{};
  std::array<char, 1 << 16> buffer{};

  Deflater() {
    constexpr int gzip_header = 16; // added to the window bits, see zlib.h
    TSL_CHECK_OP(
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_header, 8, Z_DEFAULT_STRATEGY), ==,
        Z_OK);
  }
  ~Deflater() { deflateEnd(&stream); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void run(std::string_view bytes, int flush, AtomicFile& out) {
    // zlib does not write through next_in; its type predates const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      TSL_CHECK_OP(deflate(&stream, flush), !=, Z_STREAM_ERROR);
      out.write({buffer.data(), buffer.size() - stream.avail_out});
    } while (stream.avail_out == 0);
  }
};

GzipFile::GzipFile(const std::string& path) : file_(path) {
  if (path.ends_with(".gz")) deflater_ = std::make_unique<Deflater>();
}

GzipFile::~GzipFile() = default;

void GzipFile::write(std::string_view bytes) {
  constexpr std::size_t piece = 1 << 20; // avail_in is 32 bits wide
  if (!deflater_) return file_.write(bytes);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    deflater_->run(bytes.substr(0, piece), Z_NO_FLUSH, file_);
}

void GzipFile::commit() {
  if (deflater_) deflater_->run({}, Z_FINISH, file_);
  file_.commit();
}

} // namespace tessella
