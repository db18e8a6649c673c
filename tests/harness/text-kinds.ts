/**
 * What people type and paste into a form field, and what its approval shows. Without `shown`, the
 * field is rejected by name, and `problem` says why.
 */
export const TEXT_KINDS: Readonly<
  Record<string, { readonly typed: string; readonly shown?: string; readonly problem?: string }>
> = {
  'two spaces': { typed: 'Ada  Lovelace', shown: 'Ada Lovelace' },
  'the line breaks of a text area': {
    typed: '12 High St\r\n\r\nLondon\n',
    shown: '12 High St London',
  },
  'a tab': { typed: 'Ada\tLovelace', shown: 'Ada Lovelace' },
  'an empty optional field': { typed: '', shown: '—' },
  'blanks only': { typed: ' \u00a0 ', shown: '—' },
  'a pasted invisible character': {
    typed: '\ufeffAda\u200b Love\u00adlace',
    shown: 'Ada Lovelace',
  },
  'a joiner that joins nothing': { typed: 'کار\u200cها', shown: 'کارها' },
  'a joiner that was typed twice': { typed: 'علی\u200c\u200cرضا', shown: 'علی\u200cرضا' },
  'a joiner that a phone could draw': {
    typed: 'ه\u200d',
    problem: 'it has characters that phones draw differently',
  },
  'an override of the direction': { typed: 'Ada \u202eecalevoL', shown: 'Ada ecalevoL' },
  'too long a text': { typed: 'x'.repeat(257), problem: 'it is longer than 256 characters' },
  'stacked marks': {
    typed: 'A\u0301\u0302\u0303da',
    problem: 'it has characters that phones draw differently',
  },
}
