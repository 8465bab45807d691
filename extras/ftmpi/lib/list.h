/* list.h - doubly linked lists whose links are members of what they hold. */
#ifndef FTM_LIST_H
#define FTM_LIST_H

#include <stddef.h>

/* A list is a ring through its head; a zeroed link is in no list. */
struct ftm_list {
    struct ftm_list *next, *prev;
};

#define FTM_LIST_OF(link, type, member) ((type *)(void *)((char *)(link) - offsetof(type, member)))

static inline void ftm_list_init(struct ftm_list *head)
{
    head->next = head->prev = head;
}

static inline void ftm_list_add(struct ftm_list *head, struct ftm_list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void ftm_list_remove(struct ftm_list *link)
{
    if (link->next != NULL) {
        link->prev->next = link->next;
        link->next->prev = link->prev;
        link->next = link->prev = NULL;
    }
}

static inline int ftm_list_is_empty(const struct ftm_list *head)
{
    return head->next == head;
}

/* Takes the first out, or NULL. */
static inline struct ftm_list *ftm_list_take(struct ftm_list *head)
{
    struct ftm_list *first = head->next;

    if (first == head)
        return NULL;
    ftm_list_remove(first);
    return first;
}

#endif
