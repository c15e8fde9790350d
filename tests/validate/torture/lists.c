/* Structures in a list, memory of the heap, strings, a call by a pointer; parameters of main after its name, end by exit. */
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    char name[12];
    unsigned kind : 3;
    int value : 13;
};

static struct entry *first;

static void add(const char *name, int value)
{
    struct entry *e = malloc(sizeof *e), **at = &first;
    strcpy(e->name, name);
    e->kind = strlen(name);
    e->value = value;
    while (*at && strcmp((*at)->name, name) < 0)
        at = &(*at)->next;
    e->next = *at;
    *at = e;
}

static long sum(const struct entry *e) { return e ? e->value + sum(e->next) : 0; }
long (*volatile total)(const struct entry *) = sum;

int main(argc, argv)
int argc;
char **argv;
{
    add("scale", 700);
    add("add", -4096);
    add("multiply", 4095);
    if (strcmp(first->name, "add") || first->kind != 3 || first->next->kind != 0)
        abort();
    if (total(first) != 699 || first->next->next->next)
        abort();
    exit(0);
}
