/**
 * Whether the engine checks its own contracts where checks cost too much for production: that
 * nobody reads borrowed memory after it was given back, that every cursor shows ascending keys, and
 * that nothing is used after its close or closed twice. Tests switch this on; production only reads
 * one boolean for each read and each scan.
 */

/** True while the expensive checks are on. Whatever was opened before keeps its mode. */
export let checksInvariants = false

/** Switches the expensive checks on or off for this thread. */
export function checkInvariants(on: boolean): void {
  checksInvariants = on
}
