/** Families that count versions: the promise forms. */
import { testLongRun } from '../long-run.js'

testLongRun('async', ['one', 'three', 'counted', 'apart'])
