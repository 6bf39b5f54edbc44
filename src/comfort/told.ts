/** Listeners of the program: their exceptions and rejections have no effect here. */

/** Notifies a listener. */
export function tell<A extends readonly unknown[]>(
  listener: ((...args: A) => unknown) | undefined,
  ...args: A
): void {
  try {
    // The listener may be async.
    Promise.resolve(listener?.(...args)).catch(() => undefined)
  } catch {
    // An exception of a listener is ignored.
  }
}
