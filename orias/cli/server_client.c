/* The client of the resident compiler (`orias serve`) as a compiled program: what orias/cli/client.py does, without the start of Python.

   A script whose first line is `#!PACKAGE/cli/server_client PYTHON` (`orias toolkit` writes it) begins here.  If the environment has
   ORIAS_SERVER, the resident compiler runs the command.  Without it, or whatever goes wrong, PYTHON runs the script. */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

/* Cut the last part off a path; 0 if nothing is left of it. */
static int to_folder(char *path) {
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return 0;
    *slash = 0;
    return 1;
}

/* The socket that ORIAS_SERVER names; for "1", the one of this user and of the package that this program is in. */
static int socket_path(char *to, size_t size) {
    const char *said = getenv("ORIAS_SERVER");
    int length;
    if (strcmp(said, "1") != 0) {
        length = snprintf(to, size, "%s", said);
    } else {
        char package[PATH_MAX];
        struct stat found;
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        ssize_t n = readlink("/proc/self/exe", package, sizeof package - 1);
        if (n <= 0)
            return 0;
        package[n] = 0;
        if (!to_folder(package) || !to_folder(package) || stat(package, &found) != 0)
            return 0;
        length = snprintf(to, size, "%s/orias-%u/%jx-%jx.socket", runtime && *runtime ? runtime : "/tmp",
                          (unsigned)getuid(), (uintmax_t)found.st_dev, (uintmax_t)found.st_ino);
    }
    return length > 0 && (size_t)length < size;
}

/* Whether the folder of a socket is a folder that only this user can write to. */
static int is_private(const char *path) {
    char folder[PATH_MAX];
    struct stat found;
    snprintf(folder, sizeof folder, "%s", path);
    return to_folder(folder) && lstat(folder, &found) == 0 && found.st_uid == getuid() && S_ISDIR(found.st_mode) &&
           (found.st_mode & 022) == 0;
}

/* A text that grows. */
struct text {
    char *at;
    size_t size, room;
};

/* Append a string, after a zero byte unless it is the first; 0 if there is no memory. */
static int append(struct text *t, const char *part) {
    size_t n = strlen(part), gap = t->size != 0;
    if (t->size + gap + n > t->room) {
        size_t room = 2 * (t->size + n) + 4096;
        char *at = realloc(t->at, room);
        if (at == NULL)
            return 0;
        t->at = at;
        t->room = room;
    }
    if (gap)
        t->at[t->size++] = 0;
    memcpy(t->at + t->size, part, n);
    t->size += n;
    return 1;
}

/* What the server needs to know: folder, umask, number of arguments, arguments, environment. */
static int describe(struct text *t, int count, char **arguments) {
    char folder[PATH_MAX], number[16];
    mode_t mask = umask(0);
    umask(mask);
    if (getcwd(folder, sizeof folder) == NULL || folder[0] != '/' || !append(t, folder))
        return 0;
    snprintf(number, sizeof number, "%u", (unsigned)mask);
    if (!append(t, number))
        return 0;
    snprintf(number, sizeof number, "%d", count);
    if (!append(t, number))
        return 0;
    for (int i = 0; i < count; i++)
        if (!append(t, arguments[i]))
            return 0;
    for (char **e = environ; *e != NULL; e++)
        if (!append(t, *e))
            return 0;
    return 1;
}

/* Send the length of the text with the three standard files, then the text. */
static int send_command(int connection, const struct text *t) {
    int files[3] = {0, 1, 2};
    unsigned char head[8];
    union {
        struct cmsghdr first;
        char bytes[CMSG_SPACE(sizeof files)];
    } extra;
    struct iovec part = {head, sizeof head};
    struct msghdr message = {0};
    size_t sent = 0;
    for (int i = 0; i < 8; i++)
        head[i] = (unsigned char)((uint64_t)t->size >> 8 * i);
    memset(&extra, 0, sizeof extra);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = extra.bytes;
    message.msg_controllen = sizeof extra.bytes;
    extra.first.cmsg_level = SOL_SOCKET;
    extra.first.cmsg_type = SCM_RIGHTS;
    extra.first.cmsg_len = CMSG_LEN(sizeof files);
    memcpy(CMSG_DATA(&extra.first), files, sizeof files);
    if (sendmsg(connection, &message, MSG_NOSIGNAL) != (ssize_t)sizeof head)
        return 0;
    while (sent < t->size) {
        ssize_t n = send(connection, t->at + sent, t->size - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        sent += (size_t)n;
    }
    return 1;
}

/* The exit code of a command in the resident compiler; -1 if there is none, or it is not for us. */
static int ask(int count, char **arguments) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred credentials;
    struct text t = {0};
    socklen_t size = sizeof credentials;
    unsigned char answer;
    ssize_t n;
    int connection;
    if (count > 1 && (strcmp(arguments[1], "serve") == 0 || strcmp(arguments[1], "exec") == 0))
        return -1;
    if (!socket_path(address.sun_path, sizeof address.sun_path) || !is_private(address.sun_path))
        return -1;
    connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 || credentials.uid != getuid() ||
        !describe(&t, count, arguments) || !send_command(connection, &t))
        return -1;
    do
        n = recv(connection, &answer, 1, 0);
    while (n < 0 && errno == EINTR);
    return n == 1 ? answer : -1;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fputs("This program runs the scripts that `orias toolkit` makes.\n", stderr);
        return 255;
    }
    /* argv: this program, PYTHON, the script, the arguments of the command. */
    if (getenv("ORIAS_SERVER") != NULL) {
        int code = ask(argc - 2, argv + 2);
        if (code >= 0)
            return code;
    }
    execv(argv[1], argv + 1);
    fprintf(stderr, "%s fatal   : '%s' cannot be started: %s\n", argv[2], argv[1], strerror(errno));
    return 127;
}
