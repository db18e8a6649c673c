import english from './en.json' with { type: 'json' }

export type MessageKey = keyof typeof english
/** All words of the page in one language. Words in braces are placeholders. */
export type Messages = Readonly<Record<MessageKey, string>>

/** English, whose keys each file in `languages/` has. */
export const en: Messages = english
