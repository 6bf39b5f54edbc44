/**
 * Families that count versions: the promise forms.
 *
 * @runs campaign
 */
import { testLongRun } from '../long-run.js'

testLongRun('async', ['one', 'three', 'counted', 'apart'])
