// Sockets and processes of the command tests.
#include "tests/system/cli/fake_gateway.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/message/frame.h"

namespace muster {

namespace {

std::string new_directory() {
  char name[] = "/tmp/muster-cli-XXXXXX";
  MUSTER_ASSERT(mkdtemp(name) != nullptr);
  return name;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

FakeGateway::FakeGateway(Handler handler)
    : handler_(std::move(handler)), directory_(new_directory()) {
  path_ = directory_ + "/gateway.sock";
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  MUSTER_ASSERT(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  MUSTER_ASSERT(listen(listener_, 16) == 0);
  acceptor_ = std::thread([this] { accept_all(); });
}

FakeGateway::~FakeGateway() {
  stopping_ = true;
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
  std::filesystem::remove_all(directory_);
}

std::vector<Request> FakeGateway::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeGateway::accept_all() {
  while (!stopping_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void FakeGateway::serve(int fd) {
  FrameParser parser;
  std::uint32_t id = 1;
  char buffer[65536];
  bool open = true;
  while (open && !stopping_) {
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    if (got <= 0) break;
    std::vector<std::string> messages;
    if (!parser.push({buffer, static_cast<std::size_t>(got)}, messages)) break;
    for (const std::string& message : messages) {
      auto request = decode<Request>(message);
      if (!request) continue;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(*request);
      }
      Answer answer = handler_(*request);
      std::string out;
      for (Response& response : answer.responses) {
        response.number = request->number;
        append_frames(encode(response), id++, out);
      }
      open = send_all(fd, out) && !answer.hang_up;
    }
  }
  close(fd);
}

Answer bad(ErrorCode code, const std::string& error) {
  Response response;
  response.ok = false;
  response.code = code;
  response.error = error;
  return {{response}, false};
}

Answer hang_up() { return {{}, true}; }

Finished run_command(const FakeGateway& gateway, const std::string& command,
                     const std::string& before) {
  const std::string out = scratch() + "/out";
  const std::string err = scratch() + "/err";
  const std::string line = "cd " + scratch() + "; export TZ=UTC MUSTER_GATEWAY=" + gateway.path() +
                           "; " + "PATH=" MUSTER_BINARY_DIR "/bin:$PATH; " + before + " { " +
                           command + "; } >" + out + " 2>" + err + " </dev/null";
  const int status = std::system(line.c_str());
  Finished finished;
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  finished.out = read_file(out);
  finished.err = read_file(err);
  return finished;
}

const std::string& scratch() {
  struct Scratch {
    std::string path = new_directory();
    ~Scratch() { std::filesystem::remove_all(path); }
  };
  static const Scratch kept;
  return kept.path;
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace muster
