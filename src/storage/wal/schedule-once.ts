/** Asks for a call at a later moment, however often it is wanted until then. */

/** Returns a function that has `action` called by `later`, and does nothing until that call. */
export function scheduleOnce(later: (call: () => void) => void, action: () => void): () => void {
  let isScheduled = false
  const call = (): void => {
    isScheduled = false
    action()
  }
  return () => {
    if (isScheduled) return
    isScheduled = true
    later(call)
  }
}
