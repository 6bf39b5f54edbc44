/**
 * The switch for checks of internal contracts that are too expensive for production: borrowed
 * memory is not read after its release, every cursor yields ascending keys, and nothing is used
 * after its close or closed twice. Tests switch the checks on. In production each read and each
 * scan costs one test of a boolean.
 */

/**
 * True while the expensive checks are on. Objects that exist already keep the mode they were made
 * with.
 */
export let checksInvariants = false

/** Switches the expensive checks on or off for this thread. */
export function checkInvariants(on: boolean): void {
  checksInvariants = on
}
