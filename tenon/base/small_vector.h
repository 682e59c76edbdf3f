#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tenon {

/// A vector that holds up to N elements without allocating. Equality, iteration and growth as in std::vector; elements
/// must be nothrow-movable. Moved-from is empty.
template <class T, size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  SmallVector(std::initializer_list<T> init) { append(init.begin(), init.end()); }
  explicit SmallVector(size_t n, const T& value = T()) { resize(n, value); }
  template <class It>
    requires(!std::is_integral_v<It>)
  SmallVector(It first, It last) {
    append(first, last);
  }
  SmallVector(const SmallVector& o) { append(o.begin(), o.end()); }
  SmallVector(SmallVector&& o) noexcept { TakeFrom(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) {
      clear();
      append(o.begin(), o.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      Free();
      TakeFrom(o);
    }
    return *this;
  }
  ~SmallVector() { Free(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(size_t n) {
    if (n > capacity_) Grow(n);
  }
  void push_back(T value) {
    if (size_ == capacity_) Grow(2 * capacity_);
    new (data_ + size_) T(std::move(value));
    ++size_;
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    push_back(T(std::forward<Args>(args)...));
    return back();
  }
  void pop_back() { data_[--size_].~T(); }
  void resize(size_t n, const T& value = T()) {
    while (size_ > n) pop_back();
    reserve(n);
    while (size_ < n) push_back(value);
  }
  void assign(size_t n, const T& value) {
    clear();
    resize(n, value);
  }
  template <class It>
  void append(It first, It last) {
    if constexpr (std::forward_iterator<It>) {
      const auto added = static_cast<size_t>(std::distance(first, last));
      if (added > capacity_ - size_) Grow(std::max(size_ + added, 2 * capacity_));
      std::uninitialized_copy(first, last, data_ + size_);
      size_ += added;
    } else {
      for (; first != last; ++first) push_back(*first);
    }
  }
  void insert(const T* where, T value) {
    const size_t i = static_cast<size_t>(where - data_);
    push_back(std::move(value));
    std::rotate(begin() + i, end() - 1, end());
  }
  void erase(const T* where) {
    std::move(begin() + (where - data_) + 1, end(), begin() + (where - data_));
    pop_back();
  }
  void clear() {
    std::destroy_n(data_, size_);
    size_ = 0;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* Inline() { return std::launder(reinterpret_cast<T*>(storage_)); }
  void Grow(size_t n) {
    T* grown = static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(alignof(T))));
    std::uninitialized_move_n(data_, size_, grown);
    std::destroy_n(data_, size_);
    FreeHeap();
    data_ = grown;
    capacity_ = n;
  }
  void FreeHeap() {
    if (data_ != Inline()) ::operator delete(data_, std::align_val_t(alignof(T)));
  }
  void Free() {
    clear();
    FreeHeap();
    data_ = Inline();
    capacity_ = N;
  }
  void TakeFrom(SmallVector& o) noexcept {
    if (o.data_ == o.Inline()) {
      std::uninitialized_move_n(o.data_, o.size_, data_);
      size_ = o.size_;
      o.clear();
    } else {
      data_ = std::exchange(o.data_, o.Inline());
      size_ = std::exchange(o.size_, 0);
      capacity_ = std::exchange(o.capacity_, N);
    }
  }

  alignas(T) std::byte storage_[N * sizeof(T)];
  T* data_ = Inline();
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace tenon
