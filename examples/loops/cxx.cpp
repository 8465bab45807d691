/* cxx.cpp - Phoenix in C++17: a class that owns the node, callbacks as lambdas.
 *
 *     cc -std=c99 -O2 -c phoenix.c && c++ -std=c++17 -O2 -I. -o cxx examples/loops/cxx.cpp phoenix.o
 *     ./cxx 1 2 & ./cxx 2 1; wait
 *
 * Exceptions must not pass through C frames: what a callback throws is kept and thrown again by step().
 */
#include "phoenix.h"

#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

class Node {
public:
    using Handler = std::function<void(const phx_message &, std::string_view)>;

    explicit Node(Handler handler) : handler_(std::move(handler))
    {
        phx_config cfg;
        phx *p = nullptr;

        phx_config_init(&cfg);
        cfg.user = this;
        cfg.on_message = [](phx *, const phx_message *m, void *user) { static_cast<Node *>(user)->take(*m); };
        check(phx_new(&p, &cfg, phx_now_us()), "a node");
        node_.reset(p);
    }

    Node(const Node &) = delete; /* the node knows this address */
    Node &operator=(const Node &) = delete;

    bool listen(const std::string &address)
    {
        const int err = phx_listen(node_.get(), address.c_str());

        if (err != PHX_EINUSE)
            check(err, address);
        return err == 0;
    }

    void join(const std::string &address) { check(phx_join(node_.get(), address.c_str()), address); }
    void assume(uint64_t name) { check(phx_assume(node_.get(), name, name), "a name"); }
    std::size_t pending() const { return phx_pending(node_.get()); }

    void send(uint64_t to, uint64_t from, std::string_view text)
    {
        check(phx_send(node_.get(), to, from, 0, text.data(), text.size()), "a message");
    }

    void step()
    {
        pollfd fd = { phx_fd(node_.get()), POLLIN, 0 };

        poll(&fd, 1, phx_timeout_ms(node_.get(), phx_now_us()));
        phx_step(node_.get(), phx_now_us(), nullptr, 0);
        if (thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

private:
    struct Free {
        void operator()(phx *p) const { phx_free(p); }
    };

    static void check(int err, const std::string &what)
    {
        if (err < 0)
            throw std::runtime_error(what + ": " + phx_strerror(err));
    }

    void take(const phx_message &m) noexcept
    {
        try {
            handler_(m, { static_cast<const char *>(m.data), m.size });
        } catch (...) {
            if (!thrown_)
                thrown_ = std::current_exception();
        }
    }

    std::unique_ptr<phx, Free> node_;
    Handler handler_;
    std::exception_ptr thrown_;
};

int main(int argc, char **argv)
try {
    static const std::string hub = "tcp://127.0.0.1:7000";
    const uint64_t me = argc > 1 ? std::stoull(argv[1]) : 1, you = argc > 2 ? std::stoull(argv[2]) : 2;
    bool greeted = false;
    Node node([&](const phx_message &m, std::string_view text) {
        std::cout << "name " << m.to << " got: " << text << std::endl;
        greeted = true;
    });

    if (!node.listen(hub))
        node.join(hub);
    node.assume(me);
    node.send(you, me, "hello");
    while (!greeted || node.pending() > 0)
        node.step();
    return 0;
} catch (const std::exception &e) {
    std::cerr << "cxx: " << e.what() << '\n';
    return 1;
}
