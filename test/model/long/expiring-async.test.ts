/** Families with a TTL and MIN_VERSIONS: the promise forms. */
import { testLongRun } from '../long-run.js'

testLongRun('async', ['one', 'expiring', 'least'])
