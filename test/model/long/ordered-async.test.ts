/** Families with NEW_VERSION_BEHAVIOR: the promise forms. */
import { testLongRun } from '../long-run.js'

testLongRun('async', ['one', 'ordered', 'orderedLeast'])
