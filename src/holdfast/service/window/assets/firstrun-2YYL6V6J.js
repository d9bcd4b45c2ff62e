import{a,b}from"./chunk-BKWPCFNH.js";import"./chunk-M54FY2GL.js";import"./chunk-SQE76S5B.js";export{b as GetStarted,a as default};
