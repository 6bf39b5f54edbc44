/**
 * Imported before tap by processes that run tests: a third of their processor time is saved.
 *
 * tap has Node report every promise (`async_hooks`), to find the test of an error that nobody
 * caught. Without the reports such an error fails the newest test, or the process as a test of its
 * own, with the stack of the error.
 */
import hooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const { createHook } = hooks
const noReports = { enable: () => noReports, disable: () => noReports }

/** tap's hook is known by its callbacks; hooks of tests work. */
hooks.createHook = (callbacks) => {
  return Object.keys(callbacks).join() === 'init,destroy' ? noReports : createHook(callbacks)
}
hooks.executionAsyncId = () => 1
syncBuiltinESMExports()
