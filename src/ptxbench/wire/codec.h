// Fixed little-endian encoding of message structs. A struct lists its members once, in `fields(visitor)`; Encoder and
// Decoder walk that list. No allocation is larger than the payload that is being read, and nothing here throws on bad
// bytes: a Decoder that ran out or found a bad value says so through ok().
//
// Header only and free of our other layers, because the CUDA shim builds it in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace ptxbench::wire {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "integers are copied as they lie in memory");

class Encoder {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void raw(const void* data, std::size_t n) { bytes_.append(static_cast<const char*>(data), n); }

  void put(bool value) { put(static_cast<std::uint8_t>(value)); }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    raw(text.data(), text.size());
  }
  template <class T>
  void put(const std::vector<T>& items) {
    put(static_cast<std::uint32_t>(items.size()));
    for (const T& item : items) put(item);
  }
  template <class T, std::size_t N>
  void put(const std::array<T, N>& items) {
    for (const T& item : items) put(item);
  }
  template <class T>
  void put(const std::optional<T>& item) {
    put(item.has_value());
    if (item) put(*item);
  }
  template <class... T>
  void put(const std::variant<T...>& item) {
    put(static_cast<std::uint8_t>(item.index()));
    std::visit([this](const auto& value) { put(value); }, item);
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      raw(&value, sizeof value);
    } else {
      const_cast<T&>(value).fields(*this);  // fields() serves both directions; an Encoder only reads
    }
  }

  std::string bytes_;
};

class Decoder {
 public:
  explicit Decoder(const std::string& bytes) : at_(bytes.data()), left_(bytes.size()) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  // Every byte was used and every value was in range.
  bool done() const { return ok_ && left_ == 0; }
  bool ok() const { return ok_; }

 private:
  void raw(void* data, std::size_t n) {
    if (!ok_ || n > left_) {
      ok_ = false;
      std::memset(data, 0, n);
      return;
    }
    std::memcpy(data, at_, n);
    at_ += n;
    left_ -= n;
  }

  // A count of items, each at least one byte long.
  std::uint32_t count() {
    std::uint32_t n = 0;
    raw(&n, sizeof n);
    if (n > left_) ok_ = false;
    return ok_ ? n : 0;
  }

  void get(bool& value) {
    std::uint8_t byte = 0;
    raw(&byte, 1);
    if (byte > 1) ok_ = false;
    value = byte == 1;
  }
  void get(std::string& text) {
    const std::uint32_t n = count();
    text.assign(at_, n);
    at_ += n;
    left_ -= n;
  }
  template <class T>
  void get(std::vector<T>& items) {
    const std::uint32_t n = count();
    items.clear();
    for (std::uint32_t i = 0; i < n && ok_; ++i) get(items.emplace_back());
  }
  template <class T, std::size_t N>
  void get(std::array<T, N>& items) {
    for (T& item : items) get(item);
  }
  template <class T>
  void get(std::optional<T>& item) {
    bool present = false;
    get(present);
    item.reset();
    if (present && ok_) get(item.emplace());
  }
  template <class... T>
  void get(std::variant<T...>& item) {
    std::uint8_t index = 0;
    raw(&index, 1);
    if (index >= sizeof...(T)) ok_ = false;
    if (ok_) get_alternative(item, index, std::index_sequence_for<T...>{});
  }
  template <class... T, std::size_t... I>
  void get_alternative(std::variant<T...>& item, std::size_t index, std::index_sequence<I...>) {
    ((index == I ? get(item.template emplace<I>()) : void()), ...);
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      raw(&number, sizeof number);
      value = static_cast<T>(number);
      if (!in_range(value)) ok_ = false;  // found by argument-dependent lookup, one per wire enum
    } else if constexpr (std::is_arithmetic_v<T>) {
      raw(&value, sizeof value);
    } else {
      value.fields(*this);
    }
  }

  const char* at_;
  std::size_t left_;
  bool ok_ = true;
};

template <class Message>
std::string encode(const Message& message) {
  Encoder encoder;
  encoder(message);
  return encoder.take();
}

// False when the bytes are not exactly one Message.
template <class Message>
bool decode(const std::string& bytes, Message& message) {
  Decoder decoder(bytes);
  decoder(message);
  return decoder.done();
}

}  // namespace ptxbench::wire
