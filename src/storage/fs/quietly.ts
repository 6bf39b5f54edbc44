/**
 * Runs a step on whose success nothing depends, such as the close of a file that was only read. Its
 * error is dropped, so that it neither ends the steps after it nor replaces an earlier error.
 */
export function quietly(step: () => void): void {
  try {
    step()
  } catch {
    // Nothing depends on it.
  }
}
