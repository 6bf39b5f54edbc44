/**
 * Families with a TTL and MIN_VERSIONS: the promise forms.
 *
 * @runs campaign
 */
import { testLongRun } from '../long-run.js'

testLongRun('async', ['one', 'expiring', 'least'])
