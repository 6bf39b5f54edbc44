/** Text that UTF-8 can represent. */

/** Whether a value is text without lone surrogates. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && (value as string & { isWellFormed(): boolean }).isWellFormed()
}
