/** A module that is no coprocessor. */
export const something = 1
