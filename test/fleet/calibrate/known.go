package calibrate

// known are the differences with their causes, beyond which rows have to be alike.
var known = map[cell]string{}
