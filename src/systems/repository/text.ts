/** Texts that survive UTF-8. */

/** Whether a value is a text in which every surrogate is one of a pair. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && (value as string & { isWellFormed(): boolean }).isWellFormed()
}
