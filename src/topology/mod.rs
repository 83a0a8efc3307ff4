//! Where to run: facts about the CPUs, and the width rule over them.
