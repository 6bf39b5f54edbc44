/** Listeners of the program: what they throw, or reject with, ends nothing here. */

/** Tells a listener. */
export function tell<A extends readonly unknown[]>(
  listener: ((...args: A) => unknown) | undefined,
  ...args: A
): void {
  try {
    // One that is async is a listener too.
    Promise.resolve(listener?.(...args)).catch(() => undefined)
  } catch {
    // It is told, and that is all.
  }
}
